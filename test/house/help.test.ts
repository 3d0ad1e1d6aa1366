import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Command } from 'commander'
import { addExamples, EXAMPLES } from '../../src/cli/examples.ts'
import { COMMANDS } from '../../src/cli/table.ts'

/** The words with which the description of a command may begin. */
const VERBS =
  /^(Add|Agree|Answer|Ask|Bring|Call|Change|Check|Control|Count|Delete|Draw|Find|Forget|Give|Go on|Import|Keep|Let|List|Log|Look|Make|Notify|Open|Pause|Print|Process|Put|Read|Rebuild|Remove|Report|Reset|Resume|Retry|Revoke|Run|Say|Search|See|Send|Serve|Set|Show|Start|Steer|Stop|Store|Take|Tell|Try|Turn|Watch|Withdraw|Work|Write)\b/

const MOST_COLUMNS = 100

/** Every command with its path; what each would do is replaced by nothing. */
async function allCommands(): Promise<{ program: Command; all: [path: string, command: Command][] }> {
  const program = new Command('pcc')
    .option('--config <path>')
    .option('--data-dir <path>')
    .option('--verbose')
    .option('--quiet')
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, getOutHelpWidth: () => MOST_COLUMNS })
  const twice = new Set<Command>()
  for (const row of COMMANDS) {
    await row.add(program)
    const command = program.commands.at(-1) ?? assert.fail(row.name)
    addExamples(command)
    for (const member of COMMANDS.filter(({ noun }) => noun === row.name)) {
      await member.add(command)
      const added = command.commands.at(-1)?.name(member.nameThere ?? member.name) ?? assert.fail(member.name)
      if (!added.commands.length || runsAlone(added)) added.action(() => {})
      twice.add(added)
    }
  }
  const walk = (command: Command, path: string): [string, Command][] => [
    [path, command],
    ...command.commands.flatMap(child => (!twice.has(child) ? walk(child, `${path} ${child.name()}`) : [])),
  ]
  const all = program.commands.flatMap(command => walk(command, command.name()))
  for (const [, command] of all) if (command.commands.length === 0 || runsAlone(command)) command.action(() => {})
  return { program, all }
}

/** Whether a command with subcommands also does something without one. */
function runsAlone(command: Command): boolean {
  return (command as unknown as { _actionHandler: unknown })._actionHandler !== null
}

test('every command is described by an order without a full stop, and its help is at most 100 columns wide', async () => {
  const { all } = await allCommands()
  assert.ok(all.length > 100)
  for (const [path, command] of all) {
    for (const text of [command.description(), command.summary()].filter(Boolean)) {
      assert.match(text, VERBS, `${path}: a new verb belongs in VERBS above`)
      assert.doesNotMatch(text, /\.$/, path)
    }
    for (const { description } of [...command.options, ...command.registeredArguments])
      assert.doesNotMatch(description, /\.$/, `${path}: ${description}`)
    let help = ''
    command.configureOutput({ writeOut: text => (help += text), getOutHelpWidth: () => MOST_COLUMNS }).outputHelp()
    const wide = help.split('\n').filter(line => line.length > MOST_COLUMNS)
    assert.deepEqual(wide, [], path)
    assert.match(help, /\nExamples:\n {2}pcc /, `${path} has no examples in src/cli/examples.ts`)
  }
})

test('every command has two or three examples, and each of them can be parsed', async () => {
  const { program, all } = await allCommands()
  const paths = all.map(([path]) => path)
  assert.deepEqual(Object.keys(EXAMPLES).toSorted(), paths.toSorted())
  for (const [path, examples] of Object.entries(EXAMPLES)) {
    assert.ok(examples.length === 2 || examples.length === 3, path)
    for (const example of examples) {
      const [first, ...words] = splitWords(example.replace(/ (\||>>?|<) .*/, ''))
      assert.equal(first, 'pcc', example)
      assert.match(example, new RegExp(`^pcc (--[a-z-]+ \\S+ )*${path}\\b`), example)
      await assert.doesNotReject(program.parseAsync(words, { from: 'user' }), example)
    }
  }
})

test('what an example says wrongly is found', async () => {
  const { program } = await allCommands()
  for (const wrong of ['pcc task ad x', 'pcc run . --paralel 3', 'pcc respond', 'pcc completion tcsh'])
    await assert.rejects(program.parseAsync(splitWords(wrong).slice(1), { from: 'user' }), wrong)
})

function splitWords(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

test('a flag that a command shares with its subcommand reaches the subcommand', async () => {
  const { all } = await allCommands()
  const isPositional = (command: Command) =>
    (command as unknown as { _enablePositionalOptions: boolean })._enablePositionalOptions
  const shared = all.flatMap(([path, command]) =>
    command.commands.flatMap(child =>
      child.options
        .filter(({ long }) => long !== '--json' && command.options.some(option => option.long === long))
        .map(({ long }) => `${path} ${child.name()} ${long}`)
        .filter(() => !isPositional(command)),
    ),
  )
  assert.deepEqual(shared, [], 'commander gives such a flag to the command: call enablePositionalOptions() on it')
})
