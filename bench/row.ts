/** One line of the table that `npm run bench` prints. */
export interface BenchRow {
  what: string
  measured: string
  /** Our result against the peer in the same run. */
  ratio?: number
  budget: string
  ok: boolean
}
