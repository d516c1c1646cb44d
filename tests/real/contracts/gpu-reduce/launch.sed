s/^    grid: .*/    grid: [blocks]/
