package muniment_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNothingOfTheServerOrOfValidationIsNeeded(t *testing.T) {
	module, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(module), "\ngo 1.23") || strings.Contains(string(module), "validate") {
		t.Error(string(module))
	}
	files, err := filepath.Glob("munimentv1/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "buf/validate") || !strings.Contains(string(text), "DO NOT EDIT") {
			t.Error(name)
		}
	}
}
