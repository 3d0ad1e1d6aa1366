import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrain, openBrains } from '../../src/brain/open.ts'
import type { Values } from '../../src/domain/config/settings.ts'
import type { ModelKind } from '../../src/domain/option-values.ts'
import { CONTEXT, configWith, DATABASE, reply } from './sample.ts'
import { KEY, openVendor } from './vendors.ts'

const { signal } = new AbortController()
const RIGHT = { says: reply(['SQLite']) }

async function ask(kind: ModelKind, settings: Partial<Values>, env: Record<string, string> = {}) {
  return (await openBrain(kind, configWith(settings), env)).answerQuestion([DATABASE], CONTEXT, signal)
}

test('brain.type and brain.fallbacks say which models there are, in which order, each once', async () => {
  const named = async (settings: Partial<Values>) =>
    (await openBrains(configWith(settings), {})).map(brain => brain.name)
  assert.deepEqual(await named({ 'brain.type': 'none' }), [])
  assert.deepEqual(await named({ 'brain.type': 'gemini' }), ['gemini'])
  const fallbacks: Values['brain.fallbacks'] = ['claude', 'ollama', 'openai-compatible']
  assert.deepEqual(await named({ 'brain.type': 'ollama', 'brain.fallbacks': fallbacks }), [
    'ollama',
    'claude',
    'openai-compatible',
  ])
})

test('a brain that is not set up says what is missing and how to give it, and throws nothing', async () => {
  const cases: [ModelKind, Partial<Values>, RegExp][] = [
    ['gemini', {}, /gemini has no key.*pcc config brain gemini/],
    ['gemini', { 'brain.gemini.api_key': 'env:NOT_SET' }, /takes its key from NOT_SET, which is not set here/],
    ['ollama', {}, /ollama has no model.*pcc config brain ollama/],
    ['openai-compatible', {}, /has no address/],
    ['openai-compatible', { 'brain.openai_compatible.base_url': 'http://127.0.0.1:1/v1' }, /has no model/],
  ]
  for (const [kind, settings, reason] of cases) {
    const opinion = await ask(kind, settings)
    assert.deepEqual([opinion.value, opinion.confidence, opinion.by], [undefined, 0, kind])
    assert.match(opinion.reasoning, reason)
  }
})

test('brain.timeout_seconds is how long a model may take', async t => {
  const vendor = await openVendor(t, 'ollama', [{ hangs: true }])
  const { reasoning } = await ask('ollama', { ...vendor.settings, 'brain.timeout_seconds': 1 })
  assert.match(reasoning, /within 1 s/)
})

test('brain.gemini.api_key, brain.gemini.model and brain.gemini.base_url lead to the model', async t => {
  const { settings, env } = await openVendor(t, 'gemini', [RIGHT])
  assert.deepEqual((await ask('gemini', settings, env)).value, ['SQLite'])
  assert.deepEqual((await ask('gemini', { ...settings, 'brain.gemini.api_key': KEY })).value, ['SQLite'])
  const wrong = await ask('gemini', { ...settings, 'brain.gemini.api_key': 'wrong-key-00' })
  assert.match(wrong.reasoning, /refuses the key \(401\).*pcc config brain gemini/)
  const other = await ask('gemini', { ...settings, 'brain.gemini.model': 'gemini-9' }, env)
  assert.match(other.reasoning, /does not know the model \(404\)/)
  const gone = await ask('gemini', { ...settings, 'brain.gemini.base_url': 'http://127.0.0.1:1/v1beta' }, env)
  assert.match(gone.reasoning, /cannot be reached at http:\/\/127\.0\.0\.1:1/)
})

test('brain.ollama.host and brain.ollama.model lead to the model, with room for the whole prompt', async t => {
  const { settings, asked } = await openVendor(t, 'ollama', [RIGHT])
  assert.deepEqual((await ask('ollama', { ...settings, 'brain.ollama.model': 'qwen3:8b' })).value, ['SQLite'])
  const sent = JSON.parse(asked()[0] ?? '{}')
  assert.equal(sent.model, 'qwen3:8b')
  assert.equal(sent.options.num_ctx, 16_384)
  assert.equal(sent.format.type, 'object')
  const gone = await ask('ollama', { ...settings, 'brain.ollama.host': 'http://127.0.0.1:1' })
  assert.match(gone.reasoning, /cannot be reached/)
})

test('the settings of an OpenAI-compatible endpoint lead to the model', async t => {
  const { settings, env, asked } = await openVendor(t, 'openai-compatible', [RIGHT])
  const kind = 'openai-compatible'
  await ask(kind, { ...settings, 'brain.openai_compatible.model': 'other-model' }, env)
  assert.equal(JSON.parse(asked()[0] ?? '{}').model, 'other-model')
  assert.equal(JSON.parse(asked()[0] ?? '{}').response_format.type, 'json_schema')
  assert.deepEqual((await ask(kind, { ...settings, 'brain.openai_compatible.json_schema': false }, env)).value, [
    'SQLite',
  ])
  assert.equal(JSON.parse(asked()[1] ?? '{}').response_format.type, 'json_object')
  const wrong = await ask(kind, { ...settings, 'brain.openai_compatible.api_key': 'wrong-key-00' })
  assert.match(wrong.reasoning, /refuses the key/)
  const gone = await ask(kind, { ...settings, 'brain.openai_compatible.base_url': 'http://127.0.0.1:1/v1' }, env)
  assert.match(gone.reasoning, /cannot be reached/)
})

test('after five failures in a row the model is left alone for a while', async t => {
  const vendor = await openVendor(t, 'openai-compatible', [{ status: 400, message: 'broken' }])
  const brain = await openBrain('openai-compatible', configWith(vendor.settings), vendor.env)
  for (let at = 0; at < 5; at++) await brain.answerQuestion([DATABASE], CONTEXT, signal)
  const before = vendor.asked().length
  assert.match((await brain.answerQuestion([DATABASE], CONTEXT, signal)).reasoning, /is not asked for a while/)
  assert.equal(vendor.asked().length, before)
})
