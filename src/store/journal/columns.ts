/** What the row of an attempt keeps for the journal alone. */
export interface JournalColumns {
  title: string
  feature: string | null
  notes: string | null
  /** JSON: a list of paths. */
  files: string
  files_more: number
}
