import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AgentProcess } from '../../src/agents/agent-process.ts'
import { AppError } from '../../src/base/errors.ts'
import { secretId } from '../../src/base/ids.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import { codexAgent } from '../../src/domain/agents/codex.ts'
import { bareEnv, tempDir } from '../support/world.ts'

// The PATH of a person may name a folder by a relative path: in a worktree that is a folder in which an agent writes.

/** A worktree with a program of that name in its bin folder, and the result of a start there. */
function worktree(t: TestContext) {
  const cwd = tempDir(t)
  program(join(cwd, 'bin'), 'planted')
  const agent = new AgentProcess({
    manifest: codexAgent,
    guard: openGuard(),
    isolation: 'marker',
    marker: secretId(12),
  })
  t.after(() => agent.end())
  const start = (path: string) =>
    agent.spawn({
      command: 'codex',
      args: [],
      cwd,
      env: { ...bareEnv(cwd), PATH: path },
      signal: new AbortController().signal,
    })
  return { cwd, start }
}

function program(folder: string, says: string): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'codex'), `#!/bin/sh\necho ${says}\n`, { mode: 0o755 })
  return folder
}

for (const first of ['bin', './bin', '']) {
  test(`a program is taken from no folder that the PATH names as ${JSON.stringify(first)}`, async t => {
    const { start, cwd } = worktree(t)
    if (first === '') program(cwd, 'planted')
    const installed = program(tempDir(t), 'installed')
    const child = start(`${first}:${installed}:/usr/bin:/bin`)
    const said = (await child.stdout.toArray()).join('')
    if (child.exitCode === null) await once(child, 'exit')
    assert.equal(said, 'installed\n')
  })
}

test('a program that only such a folder holds is missing, and the message says why', t => {
  const { start } = worktree(t)
  assert.throws(
    () => start('bin:/nowhere'),
    error => {
      assert.ok(error instanceof AppError)
      assert.equal(error.code, 'agent_missing')
      assert.match(
        error.message,
        /^Codex cannot be started: there is no program codex on the PATH \(without "bin": relative/,
      )
      assert.match(error.next, /npm install -g @openai\/codex/)
      return true
    },
  )
})
