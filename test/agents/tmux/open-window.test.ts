import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { tmuxDriver } from '../../../src/agents/tmux/driver.ts'
import { tmuxSocket } from '../../../src/agents/tmux/tmux.ts'
import { secretId } from '../../../src/base/ids.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarked } from '../../../src/base/process/sweep.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { bareEnv, tempDir } from '../../support/world.ts'

test('a window that tmux made without telling so is closed, with what began in it', async t => {
  const root = tempDir(t)
  const real = execFileSync('/bin/sh', ['-c', 'command -v tmux'], { encoding: 'utf8' }).trim()
  const program = (name: string, text: string) => {
    mkdirSync(join(root, 'bin'), { recursive: true })
    writeFileSync(join(root, 'bin', name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(root, 'bin', name), 0o755)
    return join(root, 'bin', name)
  }
  // Opens the window, waits until the agent runs in it, and prints nothing.
  program(
    'tmux',
    `${real} "$@" >/dev/null || exit 1; case "$*" in *new-session*) until test -e '${root}/begun'; do sleep 0.05; done; exit 1;; esac`,
  )
  const executable = program('agent', `touch '${root}/begun'; sleep 300`)
  const env = bareEnv(root)
  const socket = join(root, 'pcc.sock')
  t.after(() => {
    try {
      execFileSync(real, ['-S', tmuxSocket(socket), 'kill-server'], { stdio: 'ignore' })
    } catch {
      // it went with its last window
    }
  })
  const host = { run: root, socket }
  const driver = tmuxDriver(
    { ...host, env: { ...env, PATH: `${join(root, 'bin')}${delimiter}${env['PATH']}` } },
    { executable },
  )
  const marker = secretId(16)
  const session = await driver.open({
    ...{ id: 's-000001', cwd: root, marker, prompt: 'x', settingSources: [], tools: [] },
    env: { ...env, ANTHROPIC_API_KEY: 'sk-fake' },
    asks: { permission: async () => assert.fail(), question: async () => assert.fail() },
  } as unknown as OpenSession)
  const told: string[] = []
  for await (const event of session.events) told.push(event.kind)
  assert.equal(told.at(-1), 'ended')
  assert.equal(existsSync(join(root, 'begun')), true, 'it had begun')
  assert.deepEqual(await findMarked(sessionMarker(marker)), [])
  assert.equal(session.hasSurvivors, false)
  assert.equal(existsSync(join(root, 'tmux', 's-000001')), false)
})
