package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is the smallest static program for Linux: a header.
func program(t *testing.T) []byte {
	t.Helper()
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: 64}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func files(t *testing.T, archive []byte) (map[string][]byte, map[string]*tar.Header) {
	t.Helper()
	data, headers := map[string][]byte{}, map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return data, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		if data[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		headers[h.Name] = h
	}
}

// Starting at the index, each part is named by its digest, and the image has the promised
// properties: a user other than root, who owns /data and nothing else.
func TestImage(t *testing.T) {
	in := input{program: program(t), certificates: []byte("PEM"), licence: []byte("Apache"), arch: "arm64", version: "1.2.3", made: time.Unix(1_795_273_200, 0).UTC()}
	var image, again bytes.Buffer
	if err := errors.Join(write(&image, in), write(&again, in)); err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(image.Bytes(), again.Bytes()) {
		t.Error("the same input gives different bytes")
	}

	parts, _ := files(t, image.Bytes())
	blob := func(d descriptor) []byte {
		data := parts[blobPath(d)]
		if digest(data) != d.Digest || len(data) != d.Size {
			t.Fatalf("%s of %d bytes is %s of %d", d.Digest, d.Size, digest(data), len(data))
		}
		return data
	}

	read := func(data []byte, v any) {
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatal(err)
		}
	}

	var index struct{ Manifests []descriptor }
	read(parts["index.json"], &index)
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}

	read(blob(index.Manifests[0]), &manifest)
	var config struct {
		Architecture string
		Config       struct {
			User       string
			Entrypoint []string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}

	read(blob(manifest.Config), &config)
	if config.Architecture != "arm64" || config.Config.User != "65532:65532" || len(manifest.Layers) != 1 {
		t.Errorf("%+v", config)
	}

	z, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0])))
	if err != nil {
		t.Fatal(err)
	}

	plain, err := io.ReadAll(z)
	if err != nil || digest(plain) != config.RootFS.DiffIDs[0] {
		t.Errorf("the layer is %s, its config says %s (%v)", digest(plain), config.RootFS.DiffIDs[0], err)
	}

	data, headers := files(t, plain)
	if !bytes.Equal(data[strings.TrimPrefix(config.Config.Entrypoint[0], "/")], in.program) {
		t.Errorf("%s is not the program", config.Config.Entrypoint[0])
	}

	for name, h := range headers {
		if (h.Uid != 0) != (name == "data/") || h.Mode&0o022 != 0 {
			t.Errorf("%s belongs to %d, mode %o", name, h.Uid, h.Mode)
		}
	}
}

// A script or a program for another system is refused, before its image fails in a cluster.
func TestProgramsThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plimsoll")
	pem := filepath.Join(dir, "ca.crt")

	out := filepath.Join(dir, "image.tar")
	for want, text := range map[string]string{"not a program for Linux": "#!/bin/sh\n", "": string(program(t))} {
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.WriteFile(pem, []byte("PEM"), 0o600)); err != nil {
			t.Fatal(err)
		}
		err := run([]string{"-program", path, "-certificates", pem, "-licence", pem, "-out", out}, "1")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.10q: %v, want %q", text, err, want)
		}
	}

	if err := run([]string{"-program", path, "-certificates", pem, "-licence", pem, "-out", out}, "noon"); err == nil {
		t.Error("SOURCE_DATE_EPOCH=noon is a time")
	}
}
