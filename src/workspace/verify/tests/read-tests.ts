import type { TestResult } from '../../../domain/workspace/evidence.ts'
import { cargoTest } from './cargo-test.ts'
import { goTest } from './go-test.ts'
import { jest } from './jest.ts'
import { nodeSpec } from './node-spec.ts'
import { pytest } from './pytest.ts'
import { tap } from './tap.ts'
import type { TestRunner } from './test-parser.ts'
import { vitest } from './vitest.ts'

/** What runners told of single tests. */
export interface ReadTests {
  runners: TestRunner[]
  tests: TestResult[]
}

export interface TestReader {
  line(text: string): void
  /** Undefined where no runner told of single tests: whole command only. */
  end(): ReadTests | undefined
}

/** Reads what a command prints for what runners say of single tests. Which runner it is is seen by what it prints. */
export function openTestReader(): TestReader {
  const parsers = [nodeSpec(), tap(), jest(), vitest(), pytest(), goTest(), cargoTest()]
  return {
    line: text => {
      for (const parser of parsers) parser.line(text)
    },
    end: () => {
      const told = parsers.flatMap(parser => {
        const tests = parser.results()
        return tests === undefined || tests.length === 0 ? [] : [{ runner: parser.runner, tests }]
      })
      if (told.length === 0) return undefined
      return { runners: [...new Set(told.map(({ runner }) => runner))], tests: told.flatMap(({ tests }) => tests) }
    },
  }
}
