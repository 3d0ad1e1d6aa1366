/** A line that came or went, with its number in the file after or before. */
export interface DiffLine {
  line: number
  text: string
}

/** One file of a change. A file that moved is one that went and one that came: names alone say nothing about content. */
export interface ChangedFile {
  /** From the top of the repository, with `/`. */
  path: string
  status: 'added' | 'deleted' | 'modified'
  kind: 'text' | 'binary' | 'link' | 'submodule'
  /** As git writes them (`100644`); absent where the file is not there on that side. */
  oldMode?: string
  newMode?: string
  /** The whole text, without carriage returns; absent where there is none, or where it was too long to be looked at whole. */
  before?: string
  after?: string
  /** Lines that came and went. */
  added: DiffLine[]
  removed: DiffLine[]
  /** Only the parts around the changes were read. */
  isPartial?: true
}

/** Everything that lies between two commits, as far as it was read. */
export interface Change {
  files: ChangedFile[]
  /** Files that were too many or too large to be looked at. */
  unread: string[]
  /** The text of a file that was not changed; undefined where there is none, or it is too long. */
  unchanged: ReadonlyMap<string, string>
}

/** What a person set for the diff rules. */
export interface DiffSettings {
  /** Lines that may come and go; 0 for no bound. */
  maxChangedLines: number
  /** Patterns of paths that nobody but a person changes. */
  forbiddenPaths: readonly string[]
  /** Codes of findings that are let pass, each alone (`path.ci`) or with a pattern of paths (`test.skipped:test/old/**`). */
  allow: readonly string[]
}
