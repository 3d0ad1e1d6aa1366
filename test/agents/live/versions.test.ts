import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { bareEnv, tempDir } from '../../support/world.ts'
import { pinned, program } from '../programs/programs.ts'

const PROGRAMS = {
  'claude-agent-acp': '@agentclientprotocol/claude-agent-acp',
  'codex-acp': '@agentclientprotocol/codex-acp',
  gemini: '@google/gemini-cli',
  codex: '@openai/codex',
  opencode: 'opencode-ai',
}

for (const [name, from] of Object.entries(PROGRAMS)) {
  test(`${name} starts here and says the version that is pinned`, async t => {
    const { stdout } = await promisify(execFile)(program(name), ['--version'], {
      env: bareEnv(tempDir(t, 'pcc-home-')),
      timeout: 60_000,
    })
    assert.ok(stdout.includes(pinned(from)), stdout)
  })
}
