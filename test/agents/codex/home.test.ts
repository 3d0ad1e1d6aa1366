import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'smol-toml'
import { codexDriver } from '../../../src/agents/codex/driver.ts'
import { prepareHome } from '../../../src/agents/codex/open-thread.ts'
import { tempDir } from '../../support/world.ts'

const CONFIG = `
model = "gpt-x"
profile = "night"
approval_policy = "never"
notify = ["touch", "x"]
[model_providers.mine]
base_url = "http://127.0.0.1:1/v1"
[mcp_servers.evil]
command = "x"
[projects."/p"]
trust_level = "trusted"
[features]
hooks = true
[profiles.night]
model = "gpt-night"
sandbox_mode = "danger-full-access"
`

test('of the settings of the person only the model, its provider and the login count, and they stay as they are', async t => {
  const own = join(tempDir(t), '.codex')
  mkdirSync(join(own, 'rules'), { recursive: true })
  writeFileSync(join(own, 'config.toml'), CONFIG)
  writeFileSync(join(own, 'AGENTS.md'), 'Be kind.')
  const homes = await Promise.all([1, 2, 3].map(() => prepareHome({ CODEX_HOME: own }, { user: true, project: '/p' })))
  assert.equal(homes[0]?.own, own)
  const given = (name: string) => join(homes[0]?.given ?? '', name)
  assert.deepEqual(structuredClone(parse(readFileSync(given('config.toml'), 'utf8'))), {
    model: 'gpt-night',
    model_providers: { mine: { base_url: 'http://127.0.0.1:1/v1' } },
  })
  assert.equal(readFileSync(join(own, 'config.toml'), 'utf8'), CONFIG)
  assert.deepEqual(
    ['auth.json', 'sessions', 'AGENTS.md'].map(name => readlinkSync(given(name))),
    ['../../auth.json', '../../sessions', '../../AGENTS.md'],
  )
  assert.equal(existsSync(given('rules')), false)
  assert.equal(lstatSync(given('config.toml')).mode & 0o077, 0, 'nobody else reads it')

  // What an agent writes there while another project's Codex starts is not in the home of that one.
  const other = await prepareHome({ CODEX_HOME: own }, { user: true, project: '/q' })
  assert.ok(!other.written.some(path => given('').startsWith(`${path}/`)), 'nor can it write there')
  writeFileSync(given('hooks.json'), '{}')
  assert.equal(existsSync(join(other.given, 'hooks.json')), false)
  // An earlier agent may have led the next one elsewhere.
  rmSync(given('AGENTS.md'))
  symlinkSync('planted.md', given('AGENTS.md'))
  await prepareHome({ CODEX_HOME: own }, { user: true, project: '/p' })
  assert.equal(readlinkSync(given('AGENTS.md')), '../../AGENTS.md')

  await prepareHome({ CODEX_HOME: own }, { user: false, project: '/p' })
  assert.equal(existsSync(given('AGENTS.md')), false)
  assert.equal(existsSync(join(own, 'AGENTS.md')), true)
})

test('what is left of a conversation is told by the file that Codex keeps of it', async t => {
  const home = tempDir(t)
  const folder = join(home, '.codex/sessions/2026/11/15')
  mkdirSync(folder, { recursive: true })
  const id = (last: number) => `01a1e126-a0e5-7dc3-97a3-17740346160${last}`
  writeFileSync(join(folder, `rollout-2026-11-15T21-02-40-${id(1)}.jsonl`), '{"type":"session_meta"}\n')
  writeFileSync(join(folder, `rollout-2026-11-15T21-02-40-${id(2)}.jsonl`), '\0\0\0')
  execFileSync('mkfifo', [join(folder, `rollout-2026-11-15T21-02-40-${id(4)}.jsonl`)])
  // An agent can write here: such links hid every conversation.
  for (const name of ['x', 'y']) symlinkSync('.', join(home, '.codex/sessions', name))
  const driver = codexDriver()
  const state = (vendorId: string) => driver.conversationState?.(vendorId, { cwd: home, env: { HOME: home } })
  assert.deepEqual(
    [await state(id(1)), await state(id(2)), await state(id(3)), await state(id(4)), await state('../../etc')],
    ['intact', 'damaged', 'missing', 'damaged', 'missing'],
  )
  assert.deepEqual([driver.isVendorId?.(id(1)), driver.isVendorId?.('no such thing')], [true, false])
})
