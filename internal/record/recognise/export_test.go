package recognise

const FolderSourcesMax = folderSourcesMax
