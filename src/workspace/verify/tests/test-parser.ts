import type { TestResult } from '../../../domain/workspace/evidence.ts'

export const TEST_RUNNERS = ['node', 'jest', 'vitest', 'pytest', 'go', 'cargo', 'tap'] as const
export type TestRunner = (typeof TEST_RUNNERS)[number]

/** Reads what one runner prints, line by line. */
export interface TestParser {
  runner: TestRunner
  line(text: string): void
  /** Undefined where the runner did not say its last word: half a list is none. */
  results(): TestResult[] | undefined
}

/** Between a file, its groups and its tests. */
export const BELOW = ' > '

/** More are counted by nobody, and would fill the database. */
const MOST = 20_000
const LONGEST_NAME = 500

const WEIGHT: Record<TestResult['status'], number> = { skipped: 0, passed: 1, flaky: 2, failed: 3 }

/** Tests by their names. Where a name comes twice the worse of both counts: nothing that failed is hidden. */
export class TestList {
  readonly #found = new Map<string, TestResult['status']>()

  add(name: string, status: TestResult['status']): void {
    const short = name.slice(0, LONGEST_NAME)
    const before = this.#found.get(short)
    if (before === undefined && this.#found.size >= MOST) return
    if (before === undefined || WEIGHT[status] > WEIGHT[before]) this.#found.set(short, status)
  }

  all(): TestResult[] {
    return [...this.#found].map(([name, status]) => ({ name, status }))
  }
}
