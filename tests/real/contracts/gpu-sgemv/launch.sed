s/^    grid: .*/    grid: ["M \/ 4"]/
