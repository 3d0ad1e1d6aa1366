import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir } from '../../support/world.ts'
import { scriptedAgent, type Turn } from '../session/scripted-agent.ts'
import { landWorld, write } from './completion-world.ts'

const FAIL = '{"verdict":"fail","criteria":[{"number":1,"met":false,"reason":"a.txt is empty"}],"remarks":"say more"}'

/** An agent that works on a task; asked for an opinion, it gives the next of these, and passes the work when none is left. */
function worker(...opinions: string[]) {
  return scriptedAgent((prompt, _call, cwd): Turn => {
    if (!/Another agent says|cannot be used/.test(prompt))
      return { says: () => write(cwd, 'a.txt', `${prompt.length}\n`) }
    return { says: () => opinions.shift() ?? '<verify-pass/>' }
  })
}

/** A PATH with a program called gemini, which is never started here. */
function pathWithGemini(t: TestContext): string {
  const folder = tempDir(t)
  writeFileSync(join(folder, 'gemini'), '#!/bin/sh\n')
  chmodSync(join(folder, 'gemini'), 0o755)
  return `${folder}:/usr/bin:/bin`
}

async function landed(t: TestContext, second: string, agent = worker(FAIL)) {
  const world = await landWorld(t, agent)
  const task = await world.add('make a.txt')
  const settings = { PCC_GATES_SECOND_OPINION: second, PCC_GATES_TEST: 'ls a.txt' }
  const { id } = await world.run({ settings, env: { PATH: pathWithGemini(t), HOME: tempDir(t) } })
  const run = await world.over(id)
  return { run, task: await world.task(task), prompts: agent.prompts }
}

test('gates.second_opinion lets another agent read what held so far, and what it finds goes back', async t => {
  const { run, task, prompts } = await landed(t, 'gemini')
  assert.equal(run.outcome, 'complete')
  assert.deepEqual([task.state, task.verification], ['done', 'passed'])
  assert.match(prompts[1] ?? '', /Another agent says/)
  assert.match(prompts[2] ?? '', /does not hold yet[\s\S]*second-opinion found[\s\S]*a\.txt is empty/)
  assert.match(prompts[3] ?? '', /Another agent says/)
})

test('nobody else is asked where it is off, nor is the agent that did the work', async t => {
  for (const second of ['off', 'claude']) {
    const { run, prompts } = await landed(t, second)
    assert.equal(run.outcome, 'complete')
    assert.equal(prompts.length, 1, second)
  }
})
