import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseSync, Visitor } from 'oxc-parser'
import { EXAMPLES } from '../../src/cli/examples.ts'
import { COMMANDS } from '../../src/cli/table.ts'
import { AGENT_TOOL_NAMES } from '../../src/domain/agent-tools.ts'
import { SETTING_KEYS } from '../../src/domain/config/settings.ts'
import { BIN } from '../support/program.ts'
import { bareEnv, COMPILED, tempDir } from '../support/world.ts'
import { wrongNames } from './names.ts'
import { ROOT, readTree, type SourceFile } from './source-tree.ts'

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter(path => path !== '' && existsSync(join(ROOT, path)))
const pages = tracked.filter(path => path.endsWith('.md'))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

test('every command and flag that the README and the docs show exists', t => {
  const right = pages.filter(path => /^docs\/[^/]+\.md$/.test(path) && path !== WRONG_ON_PURPOSE)
  const shown = ['README.md', ...right].flatMap(page => commandsIn(read(page)).map(command => ({ page, ...command })))
  const help = helpOfAll(t, [['frobnicate'], ...shown.map(({ words }) => words)])
  assert.ok(help.size > 5, 'the pages show commands')
  assert.throws(() => helpOf(help, ['frobnicate'], 'a made-up page'), /does not exist/)
  for (const { page, words, flags } of shown) {
    const text = helpOf(help, words, page)
    for (const flag of flags) {
      assert.ok(GLOBAL_FLAGS.includes(flag) || text.includes(flag), `${page}: pcc ${words.join(' ')} has no ${flag}`)
    }
  }
})

test('docs/features.md lists every tool of agents, and the help of pcc mcp names none of them', t => {
  const rows = read('docs/features.md').match(/^\| `.*$/gm) ?? []
  const listed = rows.flatMap(row => [...(row.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name))
  const help = helpOf(helpOfAll(t, [['mcp']]), ['mcp'], 'the list of tools')
  for (const name of AGENT_TOOL_NAMES) {
    assert.ok(listed.includes(name), `docs/features.md lacks ${name}`)
    assert.ok(!name.includes('_') || !help.includes(name), `pcc mcp --help has a list of its own, with ${name}`)
  }
})

test('docs/runs.md lists every section of the brief', () => {
  const sources = globSync('src/supervisor/**/*.ts', { cwd: ROOT }).map(path => read(path))
  const names = sources.flatMap(text =>
    [...text.matchAll(/\bname: '([\w ]+)',\s*title:/g)].map(([, name = '']) => name),
  )
  assert.ok(names.length > 10, 'sections are found')
  const rows = read('docs/runs.md').match(/^\| [\w, ]+ \|/gm) ?? []
  const listed = rows.flatMap(row => row.slice(2, -2).split(', '))
  assert.deepEqual(
    names.filter(name => !listed.includes(name)),
    [],
  )
})

test('docs/cli.md lists every command, under its noun and in the table of commands', () => {
  const page = read('docs/cli.md')
  const rows = page.split('\n').filter(line => line.startsWith('| '))
  const named = (line: string, name: string) => new RegExp(`\`(pcc )?${name}[\` ]`).test(line)
  for (const { name, noun, nameThere } of COMMANDS) {
    if (name === 'session') continue // only a noun
    const line = noun && rows.find(row => row.startsWith(`| \`${noun}\` | `))
    if (noun)
      assert.ok(
        line && (named(line, name) || named(line, nameThere ?? name)),
        `${name} is not in the row of ${noun} in docs/cli.md`,
      )
    assert.ok(
      rows.some(row => /^\| (\w[\w ]* )?\| /.test(row) && named(row, name)),
      `${name} is not in the table of commands of docs/cli.md`,
    )
  }
  // `task add\|update`: alternatives of the last word before an operand.
  const shown = [...page.replaceAll('\\|', '|').matchAll(/`(?:pcc )?([a-z][a-z |-]*)/g)].map(([, words = '']) =>
    words.split(/\s+/).map(word => word.split('|')),
  )
  const missing = Object.keys(EXAMPLES).filter(path => {
    const words = path.split(' ')
    return words.length > 1 && !shown.some(line => words.every((word, at) => line[at]?.includes(word)))
  })
  assert.deepEqual(missing, [], 'docs/cli.md lists every subcommand')
})

test('commands and flags are found in a page', () => {
  const text =
    'Use `pcc start . --task "x" --detach` or\n```bash\nnpm ci\npcc daemon status\nPCC_HOME=x pcc list --json\n```\npcc does it.'
  assert.deepEqual(commandsIn(text), [
    { words: ['start'], flags: ['--task', '--detach'] },
    { words: ['daemon', 'status'], flags: [] },
    { words: ['list'], flags: ['--json'] },
  ])
})

test('every relative link and anchor in the docs leads somewhere', () => {
  const broken = pages.flatMap(page =>
    linksIn(read(page))
      .filter(link => !/^[a-z]+:/i.test(link))
      .filter(link => {
        const [path = '', anchor] = link.split('#')
        const file = path === '' ? page : join(dirname(page), path)
        if (!existsSync(join(ROOT, file))) return true
        return anchor !== undefined && file.endsWith('.md') && !anchorsOf(read(file)).includes(anchor)
      })
      .map(link => `${page}: ${link}`),
  )
  assert.deepEqual(broken, [])
  assert.ok(linksIn(read('README.md')).length > 3)
})

test('every name in backticks exists, in the docs and in comments of the source', () => {
  const commands = [...COMMANDS.map(({ name }) => name), 'help', 'hook']
  const wrong = wrongNames(ROOT, { commands, settings: SETTING_KEYS })
  assert.deepEqual(
    wrong.filter(name => !name.startsWith(`${WRONG_ON_PURPOSE}:`)),
    [],
  )
})

test('no tracked file names a place of one machine or a package registry', () => {
  // Assembled here, so that this file does not match itself.
  const patterns = [`/ro${'ot'}/`, `/wo${'rk'}/`, `regi${'stry'}\\.[a-z]`].map(
    text => new RegExp(`(?<![\\w.*-])${text}`),
  )
  const found = tracked
    .filter(path => /\.(ts|js|json|md|ya?ml|toml|svg|sh)$|^\.ci\/|^LICENSE$|^\.git/.test(path))
    .flatMap(path => patterns.filter(pattern => pattern.test(read(path))).map(pattern => `${path}: ${pattern}`))
  assert.deepEqual(found, [])
})

/** It shows what is typed wrongly; `test/cli/bad-inputs-page.test.ts` plays it. */
const WRONG_ON_PURPOSE = 'docs/bad-input.md'

const GLOBAL_FLAGS = ['--config', '--data-dir', '--verbose', '--quiet', '--version', '--help']

/** Prints the help of all commands from one process: a start for each costs more than all other tests of this file. */
const HELPER = `
const { runProgram } = await import(process.argv[1])
const found = {}
const write = process.stdout.write
for (const words of JSON.parse(process.argv[2])) {
  let printed = ''
  process.stdout.write = text => (printed += text) !== ''
  await runProgram([...words.split(' '), '--help']).catch(() => undefined)
  found[words] = printed
}
write.call(process.stdout, JSON.stringify(found))
`

/** What `pcc <words> --help` prints. `pcc` itself is asked about a command that is not in the table, such as `hook`. */
function helpOfAll(t: TestContext, calls: string[][]): Map<string, string> {
  const home = tempDir(t)
  const names = [...new Set(calls.map(words => words.join(' ')))]
  const script = ['--input-type=module', '-e', HELPER, join(ROOT, 'src/cli/program.ts'), JSON.stringify(names)]
  const env = { ...bareEnv(home), ...COMPILED, PCC_HOME: home }
  const found = execFileSync(process.execPath, script, { cwd: ROOT, encoding: 'utf8', env })
  const asked = Object.entries(JSON.parse(found) as Record<string, string>).map(([name, text]): [string, string] => {
    if (text.startsWith(`Usage: pcc ${name}`)) return [name, text]
    const { stdout, stderr } = spawnSync(process.execPath, [BIN, ...name.split(' '), '--help'], {
      encoding: 'utf8',
      env,
    })
    return [name, stdout || stderr]
  })
  return new Map(asked)
}

/** The help of a command. An unknown word gets the help of the command before it, which has another first line. */
function helpOf(help: Map<string, string>, words: string[], page: string): string {
  const name = `pcc ${words.join(' ')}`
  const text = help.get(words.join(' ')) ?? ''
  assert.ok(text.startsWith(`Usage: ${name}`), `${page} shows "${name}", which does not exist: ${text.trim()}`)
  return text
}

/** The commands in a page: at the start of a line of a code block, or of inline code. */
function commandsIn(markdown: string): { words: string[]; flags: string[] }[] {
  const blocks = [...markdown.matchAll(/^ *```[a-z]*\n([\s\S]*?)^ *```/gm)].flatMap(match =>
    (match[1] ?? '').split('\n'),
  )
  const inline = [...markdown.replace(/^ *```[\s\S]*?^ *```/gm, '').matchAll(/`([^`\n]+)`/g)].map(
    match => match[1] ?? '',
  )
  return [...inline, ...blocks].flatMap(line => {
    const call = /^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*pcc ((?:[a-z]+ ?)*)(.*)$/.exec(line)
    const [first, second, third] = (call?.[1] ?? '').trim().split(' ')
    if (!call || !first || first === 'help') return []
    const isNamed = (path: string) => Object.keys(EXAMPLES).some(known => `${known} `.startsWith(`${path} `))
    const hasSubcommands = Object.keys(EXAMPLES).some(path => path.startsWith(`${first} `))
    const words = [
      first,
      ...(second && hasSubcommands ? [second] : []),
      ...(second && third && isNamed(`${first} ${second} ${third}`) ? [third] : []),
    ]
    return [
      {
        words,
        flags: [...(call[2] ?? '').replace(/ #.*/, '').matchAll(/(?<=\s|^|\[)--[a-z-]+/g)].map(match => match[0]),
      },
    ]
  })
}

function linksIn(markdown: string): string[] {
  const prose = markdown.replace(/^ *```[\s\S]*?^ *```/gm, '').replace(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)].map(match => match[1] ?? match[2] ?? '')
}

function anchorsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(match =>
    (match[1] ?? '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('the queries of routes that the pages spell out are those that the daemon takes', () => {
  const taken = takenQueries()
  const spelled = globSync('docs/*.md', { cwd: ROOT }).flatMap(page =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/`((?:GET|DELETE) [^`?]+)\?([^`]+)`/g)].map(
      ([, route = '', query = '']) => ({ page, route, names: query.split('&').map(part => part.split('=')[0] ?? '') }),
    ),
  )
  assert.ok(spelled.length > 10, 'the pages were read')
  for (const { page, route, names } of spelled)
    assert.deepEqual(names.toSorted(), taken.get(route)?.toSorted(), `${page}: the query of ${route}`)
})

/** The names in the query of each route of the socket, by what the code calls the route: `GET /sessions`. */
function takenQueries(): Map<string, string[]> {
  const domain = readTree(ROOT, ['src/domain'])
  const routes = readTree(ROOT, ['src/daemon']).flatMap(file =>
    [...file.text.matchAll(/parseRequest\((\w+), request\.query, '([^']+)'\)/g)].map(([, schema = '', route = '']) => {
      const home = [file, ...domain].find(({ text }) => text.includes(`const ${schema} = `))
      return [route, home ? fieldsOf(schema, home) : []] as const
    }),
  )
  return new Map(routes)
}

/** The fields of a schema that is made of one object: `const Query = z.strictObject({ … })`. */
function fieldsOf(schema: string, { path, text }: SourceFile): string[] {
  const fields: string[] = []
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.type !== 'Identifier' || id.name !== schema || init?.type !== 'CallExpression') return
      const [object] = init.arguments
      if (object?.type !== 'ObjectExpression') return
      for (const field of object.properties)
        if (field.type === 'Property' && field.key.type === 'Identifier') fields.push(field.key.name)
    },
  }).visit(parseSync(path, text).program)
  return fields
}
