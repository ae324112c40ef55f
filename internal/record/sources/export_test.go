package sources

const FolderSourcesMax = folderSourcesMax
