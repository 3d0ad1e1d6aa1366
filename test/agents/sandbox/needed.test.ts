import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claudeManifest } from '../../../src/agents/manifests/claude.ts'
import { geminiManifest } from '../../../src/agents/manifests/gemini.ts'
import { findBubblewrap } from '../../../src/agents/sandbox/bubblewrap.ts'
import { sandboxNeeded } from '../../../src/agents/sandbox/needed.ts'
import { gitProject } from '../../support/world.ts'
import { stage } from '../acp/stage.ts'
import { bubblewrap, inSandbox } from './a-sandbox.ts'
import { refusedHere } from './refused-here.ts'

const there = async () => ({ program: '/usr/bin/bwrap', version: '0.8.0' })
const none = async () => ({ problem: 'bubblewrap is not installed', install: 'Install bubblewrap.' })

test('an agent that is held to every call runs without a sandbox, whatever is set', async () => {
  for (const mode of ['off', 'auto', 'required'] as const) {
    assert.equal(await sandboxNeeded(claudeManifest, mode, there), undefined)
    assert.equal(await sandboxNeeded(claudeManifest, mode, none), undefined)
  }
})

test('an agent that is not runs in one where there is one, unless it is switched off', async () => {
  assert.deepEqual(await sandboxNeeded(geminiManifest, 'auto', there), await there())
  assert.deepEqual(await sandboxNeeded(geminiManifest, 'required', there), await there())
  assert.equal(await sandboxNeeded(geminiManifest, 'off', there), undefined)
})

test('without bubblewrap "auto" goes on and "required" refuses, with what to install', async () => {
  assert.equal(await sandboxNeeded(geminiManifest, 'auto', none), undefined)
  await assert.rejects(sandboxNeeded(geminiManifest, 'required', none), {
    code: 'sandbox_missing',
    message: /Gemini CLI has to run in a sandbox.*bubblewrap is not installed/,
    next: /^Install bubblewrap\. Or choose/,
  })
})

test('a machine without bubblewrap on its PATH is told what to install', async () => {
  const found = await findBubblewrap({ PATH: '/nowhere' })
  assert.ok('problem' in found)
  assert.match(found.install, /apt-get install bubblewrap|Run on Linux/)
})

test('who was let in because a sandbox stands is started in it or not at all, whatever a second look would say', async t => {
  const made = { program: '/nowhere/bwrap', version: '0.8.0' }
  const sandbox = { mode: 'auto' as const, made, network: ['*'], read: [], write: [], hidden: [] }
  const { talk, heard } = await stage(t, {}, { open: { sandbox } })
  assert.equal((await talk.turn()).failure?.kind, 'agent_missing')
  assert.deepEqual(heard(), [])
})

test('a program that is not there is not started bare, and that is said', async t => {
  if (!('program' in bubblewrap)) return refusedHere(t)
  const { start } = await inSandbox(t, { project: gitProject(t) })
  assert.throws(() => start('no-such-agent'), { code: 'agent_missing', message: /there is no program no-such-agent/ })
})
