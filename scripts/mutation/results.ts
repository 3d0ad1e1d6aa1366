import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Interval } from './run-tests.ts'
import { hashOf, type Mutant } from './sample.ts'

/** The result of one mutant so far. */
export interface Result {
  id: string
  /** The hash of the mutated file. */
  hash: string
  outcome: 'killed' | 'timeout' | 'survived'
  /** The test that caught it, and whether that test starts the program. */
  by?: { file: string; title: string; hash: string; program: boolean }
  /** The tests that passed with it, by hash; they need not run again. */
  passed: Record<string, string>
}

/** The result of a test file on the unchanged source. */
export interface Baseline {
  test: string
  hash: string
  green: boolean
  durationMs: number
  /** By source file: its hash, and which ranges were executed. */
  covered: Record<string, { hash: string; ran: Interval[] }>
}

/** An append-only file of JSON lines, so that an interrupted run continues where it was. */
export class Ledger<Row> {
  readonly #file: string
  readonly #rows = new Map<string, Row>()
  readonly #keyOf: (row: Row) => string

  constructor(root: string, name: string, keyOf: (row: Row) => string) {
    this.#file = join(root, '.mutation', name)
    this.#keyOf = keyOf
    if (!existsSync(this.#file)) return
    for (const line of readFileSync(this.#file, 'utf8').split('\n')) {
      const row = parsed<Row>(line)
      if (row) this.#rows.set(keyOf(row), row)
    }
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key)
  }

  add(row: Row): void {
    mkdirSync(dirname(this.#file), { recursive: true })
    appendFileSync(this.#file, `${JSON.stringify(row)}\n`)
    this.#rows.set(this.#keyOf(row), row)
  }
}

function parsed<Row>(line: string): Row | undefined {
  try {
    return JSON.parse(line) as Row
  } catch {
    return undefined // an incomplete line: the process died while writing it
  }
}

export const openResults = (root: string) =>
  new Ledger<Result>(root, 'results.jsonl', ({ id, hash }) => `${id} ${hash}`)
export const openBaselines = (root: string) => new Ledger<Baseline>(root, 'baselines.jsonl', ({ test }) => test)
export const resultOf = (results: Ledger<Result>, mutant: Mutant) => results.get(`${mutant.id} ${hashOf(mutant.text)}`)
