import { writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { findProgram } from '../../../src/base/process/find-program.ts'
import { tempDir } from '../../support/world.ts'

export interface Hiccup {
  /** Part of the call that fails: `worktree add`. */
  call: string
  /** The error that git prints. */
  says: string
  /** A git call that is really made before the failure. */
  first?: string
}

/** Wraps git so that the next such call fails as if another git were at work; the one after that succeeds. */
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
