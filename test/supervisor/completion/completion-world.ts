import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RunWorld, runWorld } from '../../daemon/runs/run-world.ts'
import { bareEnv, gitProject } from '../../support/world.ts'
import { type ScriptedAgent, scriptedAgent, type Turn } from '../session/scripted-agent.ts'

export interface LandWorld extends RunWorld {
  /** Git in the project itself, as the person has it. */
  git(...args: string[]): string
  /** Resolves when merges are cleaned up and slots are gone: that happens after the end of task and run, without an event. */
  tidy(): Promise<void>
  /** A task as the API shows it. */
  task(id: string): Promise<{ state: string; verification: string | null; reason: string | null; attempt: number }>
}

/** Runs of a project with git: every task works in a worktree of its own. */
export async function landWorld(
  t: TestContext,
  agent: ScriptedAgent,
  files?: Record<string, string>,
): Promise<LandWorld> {
  const project = gitProject(t, files)
  const world = await runWorld(t, agent, project)
  const env = { ...bareEnv(project), GIT_CONFIG_GLOBAL: '/dev/null' }
  return {
    ...world,
    git: (...args) => execFileSync('git', args, { cwd: project, env, stdio: 'pipe' }).toString().trim(),
    async tidy() {
      const left = async () => [
        ...(await world.store.merges.toClean()),
        ...(await world.store.worktrees.list({ states: ['idle', 'leaving'] })),
      ]
      while ((await left()).length > 0) await sleep(20)
    },
    task: async id => (await world.call('GET', `/tasks/${id}`)).body.task,
  }
}

/** An agent that writes files in its worktree: it does what the script has for the first key that its prompt contains. */
export function writer(script: Record<string, (cwd: string) => string>): ScriptedAgent {
  return scriptedAgent((prompt, _call, cwd): Turn => {
    const key = Object.keys(script).find(text => prompt.includes(text))
    const says = key === undefined ? 'Nothing to do.' : (script[key]?.(cwd) ?? '')
    return { says: () => says }
  })
}

/** Writes a file in a worktree, and returns the agent's report. */
export function write(cwd: string, path: string, text: string): string {
  writeFileSync(join(cwd, path), text)
  return `Wrote ${path}.`
}

/** Runs `git add`, as an agent may in its worktree. */
export function add(cwd: string, ...paths: string[]): void {
  execFileSync('git', ['add', ...paths], { cwd, env: bareEnv(cwd), stdio: 'pipe' })
}
