import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Command } from 'commander'
import fc from 'fast-check'
import { addStartCommand } from '../../../src/cli/commands/start.ts'
import { readStartOptions } from '../../../src/cli/commands/start-session.ts'
import { ExitCode } from '../../../src/cli/context.ts'
import { HOT_FLAGS, readHotCall } from '../../../src/cli/hot-commands.ts'

interface ParsedCall {
  path: string
  options: Record<string, unknown>
}

const GLOBALS = ['--config', '--data-dir', '--verbose', '--quiet']

/** The arguments as commander parses them; undefined when it rejects them. */
async function parseWithCommander(argv: string[]): Promise<ParsedCall | undefined> {
  let read: ParsedCall | undefined
  const program = new Command('pcc').exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} })
  program.option('--config <path>').option('--data-dir <path>').option('--verbose').option('--quiet')
  program.helpOption('--help').helpCommand(false)
  addStartCommand(program, async (path, _options, command) => {
    read = { path, options: command.optsWithGlobals() }
    return 0
  })
  program.commands[0]?.exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} })
  await program.parseAsync(argv, { from: 'user' }).catch(error => {
    if (!(error instanceof ExitCode)) read = undefined
  })
  return read
}

/** The arguments as the fast path parses them; undefined when it leaves them to commander. */
function parseFast(argv: string[]): ParsedCall | undefined {
  const call = readHotCall(argv)
  const options = call?.command === 'start' ? readStartOptions(call.flags) : undefined
  if (!call || !options) return undefined
  const { '--config': config, '--data-dir': dataDir, '--verbose': verbose, '--quiet': quiet } = call.flags
  const others = { config, dataDir, verbose, quiet, json: call.flags['--json'] }
  const given = Object.entries(others).filter(([, value]) => value !== undefined)
  return { path: call.operand, options: { ...options, ...Object.fromEntries(given) } }
}

test('the fast path of start accepts nothing that commander rejects, and parses the same', async () => {
  const flag = fc.constantFrom(...Object.keys(HOT_FLAGS.start), ...GLOBALS, '--help', '--tsk', '-f', '--', '--status')
  const value = fc.constantFrom('x', '.', '3', '0', '-1', '', 'Read,Bash(a,b:*)', ',', 'start', 'list', 'a=b', '日 本')
  const right = fc.constantFrom(
    ...Object.entries({ ...HOT_FLAGS.start, '--config': 'value', '--verbose': 'switch' }).map(([name, kind]) =>
      kind === 'value' ? [name, name === '--max-turns' || name === '--priority' ? '3' : 'Read,x'] : [name],
    ),
  )
  const odd = fc.oneof(
    fc.tuple(flag, value).map(([name, text]) => [name, text]),
    fc.tuple(flag, value).map(([name, text]) => [`${name}=${text}`]),
    flag.map(name => [name]),
    value.map(text => [text]),
  )
  const parts = fc.array(fc.oneof({ weight: 4, arbitrary: right }, { weight: 1, arbitrary: odd }), { maxLength: 5 })
  const argv = fc
    .tuple(parts, parts, parts)
    .map(([before, between, after]) => [...before.slice(3), ['start'], ...between, ['.'], ...after].flat())
  let taken = 0
  await fc.assert(
    fc.asyncProperty(argv, async args => {
      const short = parseFast(args)
      if (!short) return
      taken += 1
      assert.deepEqual(short, await parseWithCommander(args))
    }),
    { numRuns: 4000 },
  )
  assert.ok(taken > 300, `only ${taken} of the made up calls were taken, which shows little`)
})

test('the fast path accepts common calls', async () => {
  for (const argv of [
    ['start', '.', '--task', 'Add tests'],
    ['start', '--task=Add tests', '/p', '--model', 'opus', '--max-turns', '7', '--detach', '--json'],
    ['--data-dir', '/d', '--quiet', 'start', '.', '--requirements', 'r.md', '--allowed-tools', 'Read,Bash(a,b:*)'],
    ['start', '.', '--task', 'x', '--priority', '10', '--no-auto-resume'],
    ['start', '.', '--task', 'x', '--resume', 'id', '--fork', '--record', 'f', '--session-name', 'n', '--verbose'],
  ]) {
    const short = parseFast(argv)
    assert.ok(short, argv.join(' '))
    assert.deepEqual(short, await parseWithCommander(argv))
  }
})
