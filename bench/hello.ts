import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSimulator } from '../src/simulator/open.ts'
import { agentEnv } from '../test/support/world.ts'
import { type Installation, run } from './program.ts'

const SCENARIO = JSON.stringify({ conversations: [{ match: 'Say hello', turns: [{ text: 'Hello.' }] }] })

/** The shortest possible session, from start to end, with the real agent. Its name is `hello`. */
export async function runHello({ dir, env, dist }: Installation): Promise<void> {
  const project = join(dir, 'hello')
  mkdirSync(project)
  writeFileSync(join(project, 'README.md'), '# sample\n')
  await using simulator = await openSimulator({ text: SCENARIO })
  await run(process.execPath, [dist, 'start', project, '--task', 'Say hello', '--session-name', 'hello'], {
    env: { ...env, ...agentEnv(join(dir, 'home'), simulator.url) },
    cwd: dir,
  })
}
