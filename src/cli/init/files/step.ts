/** What becomes of one path of a project, decided before anything is written. */
export interface Step {
  /** Relative to the project; a folder ends with a slash. */
  path: string
  does: 'create' | 'change' | 'keep' | 'leave'
  /** Why, where that does not go without saying. */
  why?: string
  /** What the file is to hold. */
  content?: string
  /** What it holds now, to put it back when a later one fails. */
  before?: string
}

/** A file that `pcc init` writes where there is none. */
export interface WantedFile {
  path: string
  content: string
}
