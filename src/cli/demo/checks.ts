import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionView } from '../../domain/api.ts'
import { DEMO_ANSWER, DEMO_COMMIT_MESSAGE } from './scenario.ts'
import type { DemoWorld } from './world.ts'

export interface Check {
  what: string
  ok: boolean
}

/** Looks at the world itself, not at what was said about it. */
export function checkWorld(world: DemoWorld, session: SessionView): Check[] {
  const file = join(world.project, 'src/slug.js')
  const written = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const tests = spawnSync(process.execPath, ['--test'], { cwd: world.project, env: world.env, stdio: 'ignore' })
  return [
    { what: 'the session completed', ok: session.status === 'completed' },
    { what: 'src/slug.js holds the answer that was given', ok: written.includes(`'${DEMO_ANSWER}'`) },
    { what: 'its tests pass', ok: written !== '' && tests.status === 0 },
    { what: 'the backups outside the project are untouched', ok: existsSync(world.keepsake) },
    { what: 'the work is committed', ok: lastCommit(world) === DEMO_COMMIT_MESSAGE },
    { what: 'the blocked and the dangerous command were refused', ok: session.tools.denied === 2 },
    { what: 'nobody had to approve the rest', ok: session.tools.human === 0 },
  ]
}

function lastCommit({ project, env }: DemoWorld): string {
  const log = spawnSync('git', ['log', '-1', '--format=%s'], { cwd: project, env, encoding: 'utf8' })
  return log.stdout?.trim() ?? ''
}
