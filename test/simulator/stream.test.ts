import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeEvent, messageFor, type StreamEvent, streamEvents } from '../../src/simulator/wires/anthropic.ts'

/** Puts an answer together from its events, the way a client does. */
function assemble(events: StreamEvent[]) {
  const blocks: Record<string, string>[] = []
  for (const event of events) {
    const index = Number(event['index'])
    if (event.type === 'content_block_start')
      blocks[index] = { ...(event['content_block'] as Record<string, string>), json: '' }
    const block = blocks[index]
    if (event.type !== 'content_block_delta' || !block) continue
    for (const [key, value] of Object.entries(event['delta'] as Record<string, string>)) {
      const name = key === 'partial_json' ? 'json' : key
      if (key !== 'type') block[name] = `${block[name] ?? ''}${value}`
    }
  }
  return blocks.map(({ json, ...block }) => (json ? { ...block, input: JSON.parse(json) } : block))
}

test('whatever an answer holds, its events put together give it back', () => {
  const turn = fc.record({
    text: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 }),
    thinking: fc.string({ minLength: 1, maxLength: 200 }),
    tools: fc.array(
      fc.record({ name: fc.constantFrom('Read', 'Bash'), input: fc.dictionary(fc.string(), fc.string()) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  })
  fc.assert(
    fc.property(turn, given => {
      const message = messageFor(given, 'claude-test', 400)
      const events = [...streamEvents(message)]
      // Encoded and decoded again, because an event with a line break would become two.
      const lines = events.map(event => encodeEvent(event).split('\n'))
      assert.ok(lines.every(parts => parts.length === 4))
      const read = lines.map(parts => JSON.parse((parts[1] ?? '').slice('data: '.length)) as StreamEvent)
      assert.deepEqual(assemble(read), JSON.parse(JSON.stringify(message.content)))
    }),
    { numRuns: 200 },
  )
})

test('a long text comes in a bounded number of pieces and no piece cuts a character', () => {
  const message = messageFor({ text: `a${'🙂'.repeat(100_000)}` }, 'claude-test', 1)
  const pieces = [...streamEvents(message)].flatMap(
    event => (event['delta'] as { text?: string } | undefined)?.text ?? [],
  )
  assert.ok(pieces.length > 1 && pieces.length <= 201, String(pieces.length))
  assert.ok(pieces.every(piece => piece.isWellFormed()))
})

test('usage is what the scenario says; what it leaves out is estimated from the sizes', () => {
  const message = messageFor(
    { text: 'hi', usage: { output_tokens: 7, cache_read_input_tokens: 50 } },
    'claude-test',
    400,
  )
  assert.deepEqual(message.usage, {
    input_tokens: 100,
    output_tokens: 7,
    cache_read_input_tokens: 50,
    cache_creation_input_tokens: 0,
  })
  const events = [...streamEvents(message)]
  assert.deepEqual(events.find(event => event.type === 'message_delta')?.['usage'], message.usage)
})

test('ten thousand answers have ten thousand ids', () => {
  const ids = Array.from({ length: 10_000 }, () => messageFor({ text: 'a' }, 'm', 1).id)
  assert.equal(new Set(ids).size, ids.length)
})
