import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { COMMANDS } from '../../src/cli/table.ts'
import { SETTING_KEYS } from '../../src/domain/config/settings.ts'
import { BIN } from '../support/program.ts'
import { bareEnv, tempDir } from '../support/world.ts'
import { wrongNames } from './names.ts'
import { ROOT } from './source-tree.ts'

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter(path => path !== '' && existsSync(join(ROOT, path)))
const pages = tracked.filter(path => path.endsWith('.md'))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

test('every command and flag that the README and the docs show exists', t => {
  const home = tempDir(t)
  const help = (words: string[]) =>
    spawnSync(process.execPath, [BIN, ...words, '--help'], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...bareEnv(home), PCC_HOME: home },
    })
  assert.throws(() => helpOf(help(['frobnicate']), ['frobnicate'], 'a made-up page'), /does not exist/)
  const seen = new Map<string, string>()
  for (const page of ['README.md', ...pages.filter(path => /^docs\/[^/]+\.md$/.test(path))]) {
    for (const { words, flags } of commandsIn(read(page))) {
      const known = seen.get(words.join(' '))
      const text = known ?? helpOf(help(words), words, page)
      seen.set(words.join(' '), text)
      for (const flag of flags) {
        assert.ok(GLOBAL_FLAGS.includes(flag) || text.includes(flag), `${page}: pcc ${words.join(' ')} has no ${flag}`)
      }
    }
  }
  assert.ok(seen.size > 5, 'the pages show commands')
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
  assert.deepEqual(wrongNames(ROOT, { commands, settings: SETTING_KEYS }), [])
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

const GLOBAL_FLAGS = ['--config', '--data-dir', '--verbose', '--quiet', '--version', '--help']

/** The help of a command. An unknown word gets the help of the command before it, which has another first line. */
function helpOf({ stdout, stderr }: { stdout: string; stderr: string }, words: string[], page: string): string {
  const name = `pcc ${words.join(' ')}`
  assert.ok(stdout.startsWith(`Usage: ${name}`), `${page} shows "${name}", which does not exist: ${stderr.trim()}`)
  return stdout
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
    const [first, second] = (call?.[1] ?? '').trim().split(' ')
    if (!call || !first) return []
    const words =
      second &&
      [
        'daemon',
        'config',
        'trust',
        'agents',
        'feature',
        'gates',
        'rules',
        'quota',
        'answers',
        'notify',
        'task',
        'notes',
        'worktree',
        'merge',
      ].includes(first)
        ? [first, second]
        : [first]
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
