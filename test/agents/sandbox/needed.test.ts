import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claudeManifest } from '../../../src/agents/manifests/claude.ts'
import { geminiManifest } from '../../../src/agents/manifests/gemini.ts'
import { findBubblewrap } from '../../../src/agents/sandbox/bubblewrap.ts'
import { sandboxNeeded } from '../../../src/agents/sandbox/needed.ts'

const there = () => ({ program: '/usr/bin/bwrap', version: '0.8.0' })
const none = () => ({ problem: 'bubblewrap is not installed', install: 'Install bubblewrap.' })

test('an agent that is held to every call runs without a sandbox, whatever is set', () => {
  for (const mode of ['off', 'auto', 'required'] as const) {
    assert.equal(sandboxNeeded(claudeManifest, mode, there), undefined)
    assert.equal(sandboxNeeded(claudeManifest, mode, none), undefined)
  }
})

test('an agent that is not runs in one where there is one, unless it is switched off', () => {
  assert.deepEqual(sandboxNeeded(geminiManifest, 'auto', there), there())
  assert.deepEqual(sandboxNeeded(geminiManifest, 'required', there), there())
  assert.equal(sandboxNeeded(geminiManifest, 'off', there), undefined)
})

test('without bubblewrap "auto" goes on and "required" refuses, with what to install', () => {
  assert.equal(sandboxNeeded(geminiManifest, 'auto', none), undefined)
  assert.throws(() => sandboxNeeded(geminiManifest, 'required', none), {
    code: 'sandbox_missing',
    message: /Gemini CLI has to run in a sandbox.*bubblewrap is not installed/,
    next: /^Install bubblewrap\. Or choose/,
  })
})

test('a machine without bubblewrap on its PATH is told what to install', () => {
  const found = findBubblewrap({ PATH: '/nowhere' })
  assert.ok('problem' in found)
  assert.match(found.install, /apt-get install bubblewrap|Run on Linux/)
})
