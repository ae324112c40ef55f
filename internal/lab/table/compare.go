package table

import (
	"context"
	"io/fs"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// Compare simulates a suite's scenarios one at a time and compares them with the measurements.
func (s *Suite) Compare(ctx context.Context, folder fs.FS, m *Measured,
	language *scenario.Language) ([]Row, error) {
	var rows []Row
	for i := range s.Runs {
		r := &s.Runs[i]
		sc, err := r.Open(folder, language)
		if err != nil {
			return nil, err
		}

		model, err := simulate.Run(ctx, sc, simulate.Options{})
		if err != nil {
			return nil, err
		}

		of, err := m.Compare(r.Name, sc.Name, model)
		if err != nil {
			return nil, err
		}

		rows = append(rows, of...)
	}

	return rows, nil
}
