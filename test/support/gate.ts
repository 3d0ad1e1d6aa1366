import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { commitAll, type Ending, tempDir } from './world.ts'

/** Makes a pipe at which agents of a git project wait; every worktree has the same one, as `gate`. Returns its path. */
export function gateIn(t: Ending, project: string): string {
  const gate = join(tempDir(t, 'pcc-gate-'), 'gate')
  execFileSync('mkfifo', [gate])
  symlinkSync(gate, join(project, 'gate'))
  commitAll(project, 'a gate')
  return gate
}
