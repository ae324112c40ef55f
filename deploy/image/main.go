// Image makes a container image of the program, without a daemon, a base image or a network:
//
//	go run ./deploy/image -program bin/plimsoll -out plimsoll.tar
//	docker load -i plimsoll.tar        # or podman load, skopeo copy oci-archive:plimsoll.tar ...
//
// The file is an OCI image layout (OCI image specification 1.1) that also has the manifest.json of
// `docker save`. It contains the program (static, with time zones), the certificates of well-known
// authorities, and an empty /data. The image runs as user 65532, who owns /data and can write
// nowhere else. The same input gives the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// nonroot is the image's user, by the same number as in distroless images: Kubernetes' runAsNonRoot
// can verify that it is not root.
const nonroot = 65532

// An input is everything that goes into an image.
type input struct {
	program, certificates, licence []byte
	arch, version                  string
	made                           time.Time
}

func main() {
	if err := run(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string, epoch string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	program := flags.String("program", "bin/plimsoll", "the program, built for Linux with CGO_ENABLED=0")
	certificates := flags.String("certificates",
		"/etc/ssl/certs/ca-certificates.crt", "certificate authorities in PEM, such as those of Debian's ca-certificates")
	licence := flags.String("licence", "LICENSE", "the licence")
	arch := flags.String("arch", runtime.GOARCH, "what the program was built for")
	version := flags.String("version", "devel", "tag of the image")
	out := flags.String("out", "plimsoll.tar", "the file to write")

	if err := flags.Parse(args); err != nil {
		return err
	}

	// Without SOURCE_DATE_EPOCH, the time is 1970: the current one would make each image different.
	in := input{arch: *arch, version: *version, made: time.Unix(0, 0).UTC()}
	if epoch != "" {
		var seconds int64
		if _, err := fmt.Sscan(epoch, &seconds); err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH=%q: %w", epoch, err)
		}
		in.made = time.Unix(seconds, 0).UTC()
	}

	for _, f := range []struct {
		into *[]byte
		path string
	}{{&in.program, *program}, {&in.certificates, *certificates}, {&in.licence, *licence}} {
		var err error
		if *f.into, err = os.ReadFile(f.path); err != nil {
			return err
		}
	}

	if err := static(in.program); err != nil {
		return fmt.Errorf("%s %w: GOOS=linux CGO_ENABLED=0 go build -o %s ./cmd/plimsoll", *program, err, *program)
	}

	var image bytes.Buffer
	if err := write(&image, in); err != nil {
		return err
	}

	return os.WriteFile(*out, image.Bytes(), 0o644)
}

// static checks that a program is self-contained: the image has no loader and no libraries.
func static(program []byte) error {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return errors.New("is not a program for Linux")
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("is not a static program")
		}
	}
	return nil
}

// layer is the root file system.
func layer(in input) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	// A fixed order and fixed times: the same program gives the same bytes.
	for _, f := range []struct {
		name string
		mode int64
		id   int
		data []byte
	}{
		{"data/", 0o750, nonroot, nil},
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, []byte(fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", nonroot))},
		{"etc/passwd", 0o644, 0,
			[]byte(fmt.Sprintf("root:x:0:0:root:/:/nonexistent\nnonroot:x:%d:%d:nonroot:/data:/nonexistent\n",
				nonroot, nonroot))},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, in.certificates},
		{"proc/", 0o555, 0, nil}, // mount points, which cannot be created on a read-only root
		{"sys/", 0o555, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/bin/plimsoll", 0o755, 0, in.program},
		{"usr/share/", 0o755, 0, nil},
		{"usr/share/doc/", 0o755, 0, nil},
		{"usr/share/doc/plimsoll/", 0o755, 0, nil},
		{"usr/share/doc/plimsoll/LICENSE", 0o644, 0, in.licence},
	} {
		if err := add(w, f.name, f.mode, f.id, in.made, f.data); err != nil {
			return nil, err
		}
	}

	if err := w.Close(); err != nil {
		return nil, err
	}

	return b.Bytes(), nil
}

func add(w *tar.Writer, name string, mode int64, id int, at time.Time, data []byte) error {
	h := &tar.Header{Name: name, Mode: mode, Uid: id, Gid: id, ModTime: at, Size: int64(len(data)),
		Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
	if strings.HasSuffix(name, "/") {
		h.Typeflag = tar.TypeDir
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// A descriptor names a blob by its content.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// write writes the image.
func write(out io.Writer, in input) error {
	plain, err := layer(in)
	if err != nil {
		return err
	}

	// The config's diff_ids are of the uncompressed layer, the manifest's digest is of the packed
	// one.
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(plain)
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}

	labels := map[string]string{
		"org.opencontainers.image.title":    "plimsoll",
		"org.opencontainers.image.version":  in.version,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}

	const of = "application/vnd.oci.image."
	blob := func(mediaType string, data []byte) descriptor {
		return descriptor{MediaType: of + mediaType, Digest: digest(data), Size: len(data)}
	}
	config, err := json.Marshal(map[string]any{
		// The fields of the OCI image specification, version 1.0 (config.md).
		"created": in.made, "architecture": in.arch, "os": "linux",
		"config": map[string]any{
			"User": fmt.Sprintf("%d:%d", nonroot, nonroot), "WorkingDir": "/data", "Labels": labels,
			"Entrypoint": []string{"/usr/bin/plimsoll"}, "Volumes": map[string]any{"/data": struct{}{}},
			"Env": []string{"PATH=/usr/bin", "LANG=C.UTF-8"}, "StopSignal": "SIGTERM",
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digest(plain)}},
		"history": []map[string]any{{"created": in.made, "created_by": "deploy/image"}},
	})
	if err != nil {
		return err
	}

	configBlob, layerBlob := blob("config.v1+json", config), blob("layer.v1.tar+gzip", packed.Bytes())
	manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": of + "manifest.v1+json",
		"config": configBlob, "layers": []descriptor{layerBlob}, "annotations": labels})
	if err != nil {
		return err
	}

	top := blob("manifest.v1+json", manifest)
	top.Platform = map[string]string{"os": "linux", "architecture": in.arch}
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": in.version}

	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": of + "index.v1+json",
		"manifests": []descriptor{top}})
	if err != nil {
		return err
	}

	// docker load reads its own list; other tools read index.json.
	docker, err := json.Marshal([]map[string]any{{"Config": blobPath(configBlob),
		"RepoTags": []string{"plimsoll:" + in.version}, "Layers": []string{blobPath(layerBlob)}}})
	if err != nil {
		return err
	}

	w := tar.NewWriter(out)
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"blobs/", nil}, {"blobs/sha256/", nil},
		{blobPath(configBlob), config}, {blobPath(layerBlob), packed.Bytes()}, {blobPath(top), manifest},
		{"index.json", index}, {"manifest.json", docker},
	} {
		mode := int64(0o644)
		if f.data == nil {
			mode = 0o755
		}
		if err := add(w, f.name, mode, 0, in.made, f.data); err != nil {
			return err
		}
	}

	return w.Close()
}

func blobPath(d descriptor) string { return "blobs/sha256/" + strings.TrimPrefix(d.Digest, "sha256:") }
