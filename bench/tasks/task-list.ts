import type { BenchRow } from '../row.ts'

export async function benchTaskList(): Promise<BenchRow[]> {
  return []
}
