import { writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { findProgram } from '../../../src/base/process/find-program.ts'
import { tempDir } from '../../support/world.ts'

export interface Hiccup {
  /** Part of the call that fails: `worktree add`. */
  call: string
  /** What git says. */
  says: string
  /** What the real git does before it fails. */
  first?: string
}

/** Puts the real git before the test, whose next such call fails as if another git had been in the way; the one after that does not. */
export function gitWithHiccup(t: TestContext, { call, says, first = '--version' }: Hiccup): void {
  const [bin, real, path] = [tempDir(t), findProgram('git', process.env), process.env['PATH']]
  const fails = `mkdir '${bin}/met' 2>/dev/null && '${real}' ${first} >/dev/null && echo "${says}" >&2 && exit 128`
  const script = `case "$*" in *'${call}'*) ${fails};; esac; exec '${real}' "$@"`
  writeFileSync(join(bin, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  process.env['PATH'] = `${bin}${delimiter}${path}`
  t.after(() => {
    process.env['PATH'] = path
  })
}
