import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { readPatch } from '../../../src/agents/hooks/patch.ts'
import { hookTranslator } from '../../../src/agents/hooks/vendors.ts'
import { HOOK_VENDORS, type HookVendor } from '../../../src/domain/hooks.ts'

const SNAKE = { session_id: 's', cwd: '/proj', transcript_path: null }
const CAMEL = { sessionId: 's', cwd: '/proj', timestamp: 0 }
const BEFORE: Record<HookVendor, string> = {
  ...{ claude: 'PreToolUse', codex: 'PreToolUse', gemini: 'BeforeTool', copilot: 'preToolUse' },
}

/** What a vendor sends before a call. */
function sent(vendor: HookVendor, tool: string, input: unknown): Record<string, unknown> {
  return vendor === 'copilot'
    ? { ...CAMEL, toolName: tool, toolArgs: input }
    : { ...SNAKE, hook_event_name: BEFORE[vendor], tool_name: tool, tool_input: input }
}

function readCall(vendor: HookVendor, tool: string, input: unknown, more: Record<string, unknown> = {}) {
  const event = hookTranslator(vendor).read(BEFORE[vendor], { ...sent(vendor, tool, input), ...more }, '/proj')
  assert.equal(event?.kind, 'tool_before')
  return event.kind === 'tool_before' ? event : assert.fail()
}

describe('bad input', () => {
  for (const vendor of HOOK_VENDORS) {
    const { read, manifest } = hookTranslator(vendor)
    const native = BEFORE[vendor]

    test(`of ${vendor} is refused, never guessed`, () => {
      const good = sent(vendor, 'x', {})
      assert.ok(read(native, good))
      const bad = ['', 'no JSON', '{"a":', '[]', 'null', '7', 'true', undefined, null, [], 7, {}]
      for (const stdin of bad) assert.equal(read(native, stdin), undefined, JSON.stringify(stdin))
      for (const key of Object.keys(good).filter(key => !/transcript|timestamp|hook_event/.test(key))) {
        const { [key]: _, ...without } = good
        assert.equal(read(native, without), undefined, `without ${key}`)
        for (const wrong of [7, null, [], '']) {
          const event = read(native, { ...good, [key]: wrong })
          if (typeof wrong === 'string' && (typeof good[key] === 'string' || key === 'toolArgs')) continue
          assert.equal(event, undefined, `${key}: ${JSON.stringify(wrong)}`)
        }
      }
    })

    test(`of ${vendor} that names another event than the hook was installed for is refused`, () => {
      if (vendor === 'copilot')
        assert.equal(read(native, { ...sent(vendor, 'x', {}), hookName: 'agentStop' }), undefined)
      else assert.equal(read(native, { ...sent(vendor, 'x', {}), hook_event_name: 'Stop' }), undefined)
    })

    test(`of ${vendor} with an event that this version does not know is kept as unknown`, () => {
      const { hook_event_name: _, ...base } = sent(vendor, 'x', {})
      const event = read('SomethingNew', { ...base, more: { of: ['it'] } })
      assert.equal(event?.kind, 'unknown')
      assert.equal(event?.native, 'SomethingNew')
      assert.equal(read('__proto__', base)?.kind, 'unknown')
    })

    test(`of ${vendor} with fields of 1 MB is read, and outputs are capped`, () => {
      const long = 'x'.repeat(1_000_000)
      const { kind, tool } = readCall(vendor, long, { command: long })
      assert.deepEqual([kind, tool.includes(long)], ['tool_before', true])
      const after = manifest.events.tool_after?.[0] ?? ''
      const { hook_event_name: _, ...call } = sent(vendor, 'x', {})
      const response = { tool_response: vendor === 'gemini' ? { llmContent: long } : long }
      const event = read(after, { ...call, ...response, toolResult: { resultType: 'success', textResultForLlm: long } })
      assert.ok(event?.kind === 'tool_after' && event.output.length > 100 && event.output.length < 100_000)
    })

    test(`of a newer ${vendor}, with more fields and other modes, is read`, () => {
      const event = readCall(vendor, 'x', {}, { permission_mode: 'a new mode', nested: { new: [1] }, agent_id: null })
      assert.equal(event.permission_mode, vendor === 'copilot' ? undefined : 'a new mode')
      assert.equal('nested' in event, false)
    })
  }

  test('of an older version without last words, ids and modes is read', () => {
    const stop = hookTranslator('claude').read('Stop', SNAKE)
    assert.ok(stop?.kind === 'stop' && stop.text === '' && !stop.again && stop.background === 0)
    assert.equal(readCall('claude', 'Bash', { command: 'ls' }).call_id, undefined)
  })
})

describe('tools in our terms', () => {
  test('an unknown tool is one that no policy knows, whatever it is called', () => {
    for (const vendor of ['codex', 'gemini', 'copilot'] as const)
      for (const name of ['Read', 'TodoWrite', 'Task', 'toString', '__proto__', 'constructor'])
        assert.equal(readCall(vendor, name, {}).tool, `unknown:execute:${name}`)
  })

  test('a known tool without the field by which it is judged is unknown', () => {
    assert.equal(readCall('codex', 'Bash', { cmd: 'ls' }).tool, 'unknown:execute:Bash')
    assert.equal(readCall('gemini', 'write_file', { path: 'x' }).tool, 'unknown:execute:write_file')
    assert.equal(readCall('gemini', 'save_memory', { fact: 'x' }).tool, 'unknown:execute:save_memory')
    assert.equal(readCall('copilot', 'create', { file_text: '' }).tool, 'unknown:execute:create')
  })

  test('files, commands and addresses are named as the drivers name them', () => {
    const named = (vendor: HookVendor, tool: string, input: unknown) => {
      const event = readCall(vendor, tool, input)
      return [event.tool, event.input]
    }
    assert.deepEqual(named('gemini', 'read_file', { file_path: 'a' }), ['Read', { file_path: 'a' }])
    assert.deepEqual(named('gemini', 'list_directory', { dir_path: '/etc' }), ['LS', { path: '/etc' }])
    assert.deepEqual(named('copilot', 'view', { path: 'a' }), ['Read', { file_path: 'a' }])
    assert.deepEqual(named('copilot', 'bash', '{"command":"ls"}'), ['Bash', { command: 'ls' }])
    assert.deepEqual(named('codex', 'mcp__files__read', { a: 1 }), ['mcp__files__read', { a: 1 }])
    const [tool, input] = named('copilot', 'ask_user', { question: 'Which?', choices: ['A'] })
    assert.deepEqual([tool, Object.keys(input as object)], ['AskUserQuestion', ['questions']])
  })

  test("a server's tool of Gemini CLI is named by what the program says, not by its name", () => {
    const mcp = { mcp_context: { server_name: 'files', tool_name: 'write' } }
    assert.equal(readCall('gemini', 'mcp_files_write', {}, mcp).tool, 'mcp__files__write')
    assert.equal(readCall('gemini', 'mcp_files_write', {}).tool, 'unknown:execute:mcp_files_write')
  })

  test('several addresses in one fetch are several calls', () => {
    const event = readCall('gemini', 'web_fetch', { prompt: 'compare https://a.example/x and http://b.example' })
    assert.deepEqual(
      event.parts?.map(({ input }) => input['url']),
      ['https://a.example/x', 'http://b.example'],
    )
    assert.equal(event.tool, 'unknown:execute:web_fetch')
    assert.equal(readCall('gemini', 'web_fetch', { prompt: 'nothing' }).tool, 'unknown:execute:web_fetch')
  })

  test('a command in another folder than the session is judged there, and the project stays', () => {
    const event = readCall('codex', 'Bash', { command: 'rm -rf x' }, { cwd: '/other one' })
    assert.deepEqual([event.cwd, event.input['command']], ['/proj', "cd -- '/other one' && rm -rf x"])
    const gemini = readCall('gemini', 'run_shell_command', { command: 'rm -rf x', dir_path: 'sub' })
    assert.match(String(gemini.input['command']), /^cd -- '?sub'? && rm -rf x$/)
  })
})

describe('patches', () => {
  const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

  test('are judged by every path that they touch', () => {
    const calls = readPatch(
      patch(
        '*** Add File: a',
        '+x',
        '*** Delete File: b c',
        '*** Update File: d',
        '*** Move to: ../e',
        '@@',
        '-1',
        '+2',
      ),
    )
    const judged = calls?.map(({ tool, input }) => `${tool} ${String(input['file_path'] ?? input['command'])}`)
    assert.deepEqual(judged, ['Write a', "Bash rm -- 'b c'", 'Edit d', 'Write ../e', 'Bash mv -- d ../e'])
  })

  test('with characters that Codex trims and we do not are not understood, so that no other file is judged than is written', () => {
    for (const path of ['.mcp.json\u0085', '\u0085.mcp.json', ' a', 'a\u0007b'])
      assert.equal(readPatch(patch(`*** Update File: ${path}`, '@@', '-1', '+2')), undefined, JSON.stringify(path))
    const hidden = '\u0085*** Update File: .mcp.json'
    for (const first of [['*** Add File: a', '+x'], ['*** Update File: a', '@@', '-1', '+2'], ['*** Delete File: a']])
      assert.equal(readPatch(patch(...first, hidden, '@@', '-1', '+2')), undefined, first[0])
  })

  test('in a folder that the model chose are judged there', () => {
    const more = { cwd: '/home/u' }
    const { input } = readCall('codex', 'apply_patch', { command: patch('*** Add File: notes', '+x') }, more)
    assert.equal(input['file_path'], '/home/u/notes')
    const moved = patch('*** Update File: a', '*** Move to: b', '@@', '-1', '+2')
    const { parts } = readCall('codex', 'apply_patch', { command: moved }, more)
    assert.equal(parts?.at(-1)?.input['command'], 'mv -- /home/u/a /home/u/b')
    assert.equal(readCall('codex', 'view_image', { path: 'a.png' }, more).input['file_path'], '/home/u/a.png')
  })

  test('with a header behind spaces, as Codex reads it, hide nothing', () => {
    const calls = readPatch(patch('*** Add File: a', '+x', '  *** Delete File: secret'))
    assert.equal(calls?.length, 2)
  })

  test('that are not understood are judged as the worst', () => {
    const bad = [
      '',
      'x',
      patch(),
      patch('*** Rename File: a'),
      patch('+x'),
      patch('*** Delete File: a', '+x'),
      '*** Begin Patch',
    ]
    for (const text of bad) {
      assert.equal(readPatch(text), undefined, text)
      assert.equal(readCall('codex', 'apply_patch', { command: text }).tool, 'unknown:execute:apply_patch')
    }
  })

  test('of one file are that one call, of several a call with parts', () => {
    const one = readCall('codex', 'apply_patch', { command: patch('*** Add File: a', '+x') })
    assert.deepEqual([one.tool, one.parts], ['Write', undefined])
    const two = readCall('copilot', 'apply_patch', patch('*** Add File: a', '+x', '*** Add File: b', '+y'))
    assert.deepEqual([two.tool, two.parts?.length], ['unknown:execute:apply_patch', 2])
  })
})

test('what is printed when everything else failed needs no other file', () => {
  const source = readFileSync(new URL('../../../src/agents/hooks/refuse.ts', import.meta.url), 'utf8')
  assert.doesNotMatch(source, /^import\s|\bimport\(|require\(/m)
})
