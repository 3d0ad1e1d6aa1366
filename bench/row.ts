/** One line of the table that `npm run bench` prints. */
export interface BenchRow {
  what: string
  measured: string
  /** Ours against the peer of the same run. */
  ratio?: number
  budget: string
  ok: boolean
}
