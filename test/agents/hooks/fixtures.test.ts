import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hookTranslator } from '../../../src/agents/hooks/vendors.ts'
import { parseJson } from '../../../src/base/json.ts'
import { HOOK_VENDORS } from '../../../src/domain/hooks.ts'
import { pinned } from '../programs/programs.ts'
import { PROJECT, readFixtures, sortKeys } from './fixtures.ts'
import { inputSchema, outputSchema } from './schemas.ts'

const fixtures = readFixtures()

describe('what the real programs sent to their hooks', () => {
  for (const { name, vendor, native, stdin, notes, expected, stderr } of fixtures) {
    test(`${name} is read and answered as recorded`, () => {
      const { read, render } = hookTranslator(vendor)
      const event = read(native, JSON.stringify(stdin), PROJECT)
      assert.deepEqual(sortKeys(event), expected.event)
      assert.ok(event)
      const output = render(event, notes.answer)
      assert.deepEqual(sortKeys(parseJson(output.stdout) ?? output.stdout), expected.output.stdout)
      assert.equal(output.exit, expected.output.exit)
      assert.equal(output.stderr, stderr)
    })

    test(`${name} has the fields that the schemas name`, () => {
      const schema = inputSchema(vendor, native)
      assert.ok(schema, `there is no schema of what ${vendor} sends at ${native}`)
      schema.parse(stdin)
      outputSchema(vendor, native).parse(expected.output.stdout)
    })
  }
})

test('every vendor has recorded cases of the events that decide', () => {
  for (const vendor of HOOK_VENDORS) {
    const { manifest } = hookTranslator(vendor)
    for (const kind of ['tool_before', 'stop'] as const) {
      const natives = manifest.events[kind] ?? []
      const cases = fixtures.filter(one => one.vendor === vendor && natives.includes(one.native))
      assert.ok(cases.length >= 2, `${vendor} ${kind}`)
      for (const { notes } of cases) assert.equal(notes.source, 'recorded')
    }
  }
})

test('the versions of the manifests are those that the recordings name and that are pinned', () => {
  for (const { vendor, notes } of fixtures)
    assert.ok(hookTranslator(vendor).manifest.verified.versions.includes(notes.version), `${vendor} ${notes.version}`)
  const packages = { codex: '@openai/codex', gemini: '@google/gemini-cli', copilot: '@github/copilot' } as const
  for (const [vendor, name] of Object.entries(packages) as [keyof typeof packages, string][])
    assert.deepEqual(hookTranslator(vendor).manifest.verified.versions.at(-1), pinned(name))
})
