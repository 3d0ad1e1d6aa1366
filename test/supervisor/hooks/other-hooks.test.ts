import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { mayOthersChangeInput } from '../../../src/supervisor/hooks/other-hooks.ts'
import { tempDir } from '../../support/world.ts'

test('only a hook that is not ours, or a file that may bring one in, can change a call after it was judged', async t => {
  const [home, project] = [tempDir(t), tempDir(t)]
  const paths = appPathsFor({ env: { PCC_HOME: join(home, '.pcc') } })
  const ask = () => mayOthersChangeInput({ paths, env: { HOME: home }, project, pid: process.pid })
  const settings = (command: string) => {
    const hooks = { PreToolUse: [{ hooks: [{ type: 'command', command, args: ['claude', 'PreToolUse'] }] }] }
    writeFileSync(join(home, '.claude/settings.json'), JSON.stringify({ hooks }))
  }
  const own = join(paths.home, 'hooks', 'run')
  mkdirSync(join(home, '.claude/plugins/store'), { recursive: true })
  writeFileSync(join(home, '.claude/plugins/store/cc-plugin-agents-md_builtin-b049b47b3618.json'), '{}')
  settings(own)
  assert.equal(await ask(), false, 'our own hook, and what Claude Code itself writes at its first start')
  settings(`${own}-not`)
  assert.equal(await ask(), true, 'a hook of somebody else')
  rmSync(join(home, '.claude/settings.json'))
  assert.equal(await ask(), false, 'no settings')
  execFileSync('mkfifo', [join(home, '.claude/settings.json')])
  assert.equal(await ask(), true, 'a pipe, which is not waited for')
  rmSync(join(home, '.claude/settings.json'))
  settings(own)
  writeFileSync(join(home, '.claude/plugins/installed_plugins.json'), '{}')
  assert.equal(await ask(), true, 'a plugin')
  assert.equal(await mayOthersChangeInput({ paths, env: { HOME: home }, project }), true, 'no process was found')
})
