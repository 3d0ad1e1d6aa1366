import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLazyBrains } from '../../src/daemon/lazy-services.ts'
import { CONTEXT, configWith, DATABASE, reply } from '../brain/sample.ts'
import { KEY, openVendor } from '../brain/vendors.ts'

test('a brain that a session holds uses the key that is stored now, and says so when there is none', async t => {
  const vendor = await openVendor(t, 'gemini', [{ says: reply(['SQLite']) }])
  const stored: { value: string | undefined } = { value: undefined }
  const brains = openLazyBrains({ read: async name => (name === 'gemini' ? stored.value : undefined) })
  const config = configWith({ ...vendor.settings, 'brain.type': 'gemini', 'brain.gemini.api_key': 'secret:gemini' })
  const [brain] = await brains.get(config, {})
  const ask = async () => brain?.answerQuestion([DATABASE], CONTEXT, new AbortController().signal)
  assert.match((await ask())?.reasoning ?? '', /takes its key from the secret gemini, .*pcc secrets list --check/)
  stored.value = 'wrong-key-00'
  assert.match((await ask())?.reasoning ?? '', /refuses the key \(401\)/)
  stored.value = KEY
  assert.deepEqual((await ask())?.value, ['SQLite'])
  stored.value = 'rotated-and-wrong'
  assert.match((await ask())?.reasoning ?? '', /refuses the key \(401\)/)
})
