/** What one source file says, read from its syntax tree. Lines are counted from 1, and both ends belong to a range. */
export interface ParsedFile {
  /** The name of a row of `LANGUAGES`, or `text` if there is no grammar for the file. */
  language: string
  definitions: CodeDefinition[]
  imports: CodeImport[]
  calls: CodeCall[]
  inherits: CodeInheritance[]
  /** They cover the file from its first to its last line and do not overlap; only an empty file has none. */
  chunks: CodeChunk[]
}

export type DefinitionKind = 'function' | 'method' | 'class' | 'interface' | 'type' | 'module' | 'variable'

export interface CodeDefinition {
  name: string
  kind: DefinitionKind
  /** Its first words, up to its body, on one line. */
  signature: string
  startLine: number
  endLine: number
  /** The class, module or function that it is inside of. */
  container?: string
  /** Other files can use it. */
  exported: boolean
}

export interface CodeImport {
  /** As it is written: `../store`, `os.path`, `java.util`. */
  from: string
  /** The names that come from there; empty if it is imported as a whole. */
  names: string[]
}

export interface CodeCall {
  /** The last word of what is called: `save` for `this.store.save(…)`. */
  name: string
  line: number
  /** The innermost definition around it, after its container if it has one: `Store.save`. */
  inside?: string
}

export interface CodeInheritance {
  name: string
  base: string
}

/** A piece of a file that is found as a whole. */
export interface CodeChunk {
  startLine: number
  endLine: number
  /** What the lines do not say by themselves: path, enclosing class and signatures, one on each line. */
  header: string
  /** The name of its first definition. */
  definition?: string
}
