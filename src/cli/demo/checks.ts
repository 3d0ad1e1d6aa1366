import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionView } from '../../domain/api.ts'
import { DEMO_ANSWER } from './scenario.ts'
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
    { what: 'the dangerous command was refused', ok: session.tools.denied === 1 },
  ]
}
