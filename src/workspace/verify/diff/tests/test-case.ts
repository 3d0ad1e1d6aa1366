import type { Language } from '../change/file-kind.ts'

/** `always`: nothing can make it run. `elsewhere`: it runs on other machines than this one may be. `condition`: who knows. */
export type Skip = 'always' | 'elsewhere' | 'condition'

/** Something in a test that can make it fail. */
export interface Assertion {
  /** In one spelling: blanks put together, comments taken out. */
  text: string
  line: number
  /** How much of what could be wrong it would see: 0 cannot fail, 1 is there at all, 2 in part, 3 exactly. */
  strength: number
  /** What is compared: the name of the matcher, or the sign. */
  matcher: string
  /** Numbers, texts and words such as `null` that it holds, as written. */
  literals: string[]
  /** Names that it holds, but for those of the test library. */
  words: string[]
  /** How it came that it may not count: caught by the test itself, after a return, under a condition. */
  trouble?: 'swallowed' | 'unreached' | 'guarded'
}

/** One test as its file has it, with all that counts for whether it was made weaker. */
export interface TestCase {
  name: string
  file: string
  line: number
  language: Language
  skip?: Skip
  /** What says so, for the report. */
  skipText?: string
  isFocused: boolean
  /** Without comments, blanks put together. */
  body: string
  assertions: Assertion[]
  /** Rows of its table of cases, as written. */
  cases: string[]
  /** A function that tests call, and no test itself. */
  isHelper: boolean
}
