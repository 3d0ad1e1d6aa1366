import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isReadOnlySession } from '../../src/agents/agent-sandbox.ts'
import type { OpenSession } from '../../src/domain/session.ts'
import { landWorld, write } from '../supervisor/completion/completion-world.ts'
import { type ScriptedAgent, scriptedAgent, type Turn } from '../supervisor/session/scripted-agent.ts'
import { tempDir } from '../support/world.ts'

/** An agent of a script that notes how each of its sessions was opened. */
function noting(turnFor: (prompt: string, cwd: string) => Turn): ScriptedAgent & { opened: OpenSession[] } {
  const agent = scriptedAgent((prompt, _call, cwd) => turnFor(prompt, cwd))
  const opened: OpenSession[] = []
  const open: typeof agent.driver.open = async options => {
    opened.push(options)
    return agent.driver.open(options)
  }
  return { ...agent, driver: { ...agent.driver, open }, opened }
}

/** A driver starts nothing without a sandbox that is required. */
function wallOf(open: OpenSession): string {
  if (open.sandbox?.mode !== 'required' || !open.sandbox.made) return 'outside'
  return isReadOnlySession(open) ? 'in the sandbox, reading' : 'in the sandbox'
}

test('the set-up command, the agent, the gate and the verifier of a task all run in the sandbox', async t => {
  const agent = noting((prompt, cwd) => ({
    says: () => (prompt.includes('Another agent says') ? '<verify-pass/>' : write(cwd, 'a.txt', 'a\n')),
  }))
  const world = await landWorld(t, agent, { '.gitignore': 'was-set-up\n' })
  const file = join(tempDir(t), 'of-the-person') // in the machine's /tmp, which no sandbox shows
  writeFileSync(file, 'here')
  world.settings['PCC_WORKTREES_SETUP'] = `test ! -e ${file} && touch was-set-up`
  world.settings['PCC_GATES_TEST'] = `test ! -e ${file} && test -e was-set-up`
  world.settings['PCC_GATES_VERIFIER'] = 'on'
  const task = await world.add('make a.txt', { acceptance: ['a.txt is there'] } as object)
  const { id } = await world.run()
  assert.equal((await world.over(id)).outcome, 'complete')
  assert.equal((await world.task(task)).verification, 'passed')
  assert.deepEqual(agent.opened.map(wallOf), ['in the sandbox', 'in the sandbox, reading'])
})

test('every phase of a feature runs in the sandbox, with the project read-only', async t => {
  const agent = noting(() => ({}))
  const world = await landWorld(t, agent)
  const begin = async (name: string, given: Record<string, string>, more: object = {}) => {
    const folder = join(world.project, '.perpetualcc/features', name)
    mkdirSync(folder, { recursive: true })
    for (const [file, text] of Object.entries(given)) writeFileSync(join(folder, file), text)
    const feature = { project: world.project, name, ai: true, until: 'tasks', env: {}, ...more }
    const { body } = await world.call('POST', '/features', feature)
    await world.ended(body.session.id, 1)
    return body.phase
  }
  assert.deepEqual(
    [
      await begin('asked', {}),
      await begin('told', {}, { from: 'blue walls' }),
      await begin('specified', { 'spec.md': '# Blue walls' }),
      await begin('planned', { 'spec.md': '# Blue walls', 'plan.md': '# Paint them' }),
    ],
    ['interview', 'spec', 'plan', 'tasks'],
  )
  assert.deepEqual(agent.opened.map(wallOf), Array(4).fill('in the sandbox, reading'))
})
