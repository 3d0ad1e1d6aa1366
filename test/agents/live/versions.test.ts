import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { AGENT_DEFINITIONS } from '../../../src/domain/agents/agent-registry.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { pinned, program } from '../programs/programs.ts'

const PROGRAMS: [name: string, from: string][] = [
  ...AGENT_DEFINITIONS.flatMap(({ package: from, start }): [string, string][] => (from ? [[start.command, from]] : [])),
  ['codex-acp', '@agentclientprotocol/codex-acp'],
]

for (const [name, from] of PROGRAMS) {
  test(`${name} starts here and says the version that is pinned`, async t => {
    const { stdout } = await promisify(execFile)(program(name), ['--version'], {
      env: bareEnv(tempDir(t, 'pcc-home-')),
      timeout: 60_000,
    })
    assert.ok(stdout.includes(pinned(from)), stdout)
  })
}
