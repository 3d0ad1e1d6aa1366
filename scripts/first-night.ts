import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { openTerminal, type Reply } from './first-night/terminal.ts'
import { install, pack } from './pack.ts'
import { ROOT } from './places.ts'

// npm run first-night [-- --keep]: plays the first night of a new user in a real terminal, from `npm install --global` of the
// tarball to the report. The model is the simulator; everything else is real. It fails if something stalls, if a command is typed
// that neither the README nor an earlier screen named, or if the morning does not look as it should. Everything that the terminal
// showed is printed.

const OWN = join(ROOT, 'scripts/first-night')
const PROJECT = {
  'package.json': `${JSON.stringify({ name: 'bookshelf', version: '1.0.0', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  'src/books.js': "export const books = ['Emma', 'Ulysses']\n",
  'test/books.test.js':
    "import assert from 'node:assert/strict'\nimport { test } from 'node:test'\nimport { books } from '../src/books.js'\n\ntest('there are books', () => assert.equal(books.length, 2))\n",
  'legacy/old.js': 'export const old = true\n',
  'README.md': '# Bookshelf\n',
}

const work = mkdtempSync(join(tmpdir(), 'pcc-night-'))
const home = join(work, 'home')
const project = join(work, 'bookshelf')
const GIT_ENV = { HOME: home, PATH: '/usr/bin:/bin' }
/** The exit code of a board that is left while the run goes on. */
const LEFT = 130
const known = [readFileSync(join(ROOT, 'README.md'), 'utf8')]

try {
  const prefix = join(work, 'prefix')
  install(pack(work), prefix, work)
  makeProject()
  const simulator = await simulate(join(prefix, 'bin/pcc'))
  try {
    await playNight(prefix, simulator.url)
    checkMorning()
  } finally {
    simulator.end()
  }
  process.stdout.write('\nThe first night went well.\n')
} finally {
  if (!process.argv.includes('--keep')) rmSync(work, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

async function playNight(prefix: string, url: string): Promise<void> {
  const env = {
    HOME: home,
    PATH: `${join(prefix, 'bin')}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    TMUX_TMPDIR: work,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-ant-simulated',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    GIT_CONFIG_NOSYSTEM: '1',
  }
  await using terminal = await openTerminal(env, project)
  const type = async (command: string, replies: Reply[] = [], expected = 0) => {
    checkNamed(command)
    const shown = await terminal.type(command, replies)
    process.stdout.write(`\n${shown.text}\n[exit ${shown.code}]\n`)
    known.push(shown.text)
    if (shown.code !== expected) throw new Error(`"${command}" ended with ${shown.code}, not with ${expected}.`)
    return shown
  }
  const yes: Reply[] = [{ to: /\[[Yy]\/[Nn]\]$/, keys: ['y', 'Enter'] }]

  try {
    await type('pcc')
    await type('pcc init', [...yes, { to: /\[1\]$/, keys: ['Enter'] }])
    await type('pcc task import plan.md', yes)
    // The board stays while something waits for a person. The user goes to bed and leaves it.
    const { text: board } = await type(
      'pcc run . --parallel 3',
      [...yes, { to: / 6 done, 2 waiting/, keys: ['q'] }],
      LEFT,
    )
    const run = find(/r-[0-9a-f]{6}/, board)
    const { text: pending } = await type('pcc pending')
    await type(`pcc respond ${find(/│ (\d+) │[^\n]*Which format/, pending)} 1`)
    await type(`pcc respond ${find(/│ (\d+) │[^\n]*rm -rf legacy/, pending)} --approve --again`)
    find(/complete, every task is done\n *8 done; 8 merged; 8 attempts/, (await type(`pcc attach ${run}`)).text)
    find(/✓ 8 done/, (await type('pcc report')).text)
    find(/Nothing waits for you/, (await type('pcc pending')).text)
    find(/nothing needs you/, (await type('pcc')).text)
  } finally {
    spawnSync(join(prefix, 'bin/pcc'), ['daemon', 'stop'], { env, cwd: project })
  }
}

/** What a screen shows: the first group of the pattern, or all of it. */
function find(pattern: RegExp, screen: string): string {
  const found = pattern.exec(screen)
  if (!found) throw new Error(`The screen does not show ${pattern}.`)
  return found[1] ?? found[0]
}

/** A new user types what the README or an earlier screen names: the command with its subcommand. */
function checkNamed(command: string): void {
  const [, ...words] = command.split(' ')
  const name = ['pcc', ...words.slice(0, 2).filter(word => /^[a-z]+$/.test(word))].join(' ')
  if (!known.some(text => text.includes(name))) throw new Error(`Nothing that the user saw names "${name}".`)
}

/** What the tasks were for is on the branch, and their branches are gone. */
function checkMorning(): void {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env: GIT_ENV, encoding: 'utf8' })
  const files = git('ls-tree', '-r', '--name-only', 'main').trim().split('\n')
  for (const file of ['src/isbn.js', 'src/search.js', 'src/sort.js', 'src/dates.js', 'CHANGES.md'])
    if (!files.includes(file)) throw new Error(`${file} is not on main.`)
  if (files.some(file => file.startsWith('legacy/'))) throw new Error('The legacy folder is still on main.')
  find(/^$/, git('status', '--porcelain').trim())
}

function makeProject(): void {
  for (const [path, text] of Object.entries(PROJECT)) {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), text)
  }
  cpSync(join(OWN, 'plan.md'), join(project, 'plan.md'))
  mkdirSync(home)
  writeFileSync(join(home, '.gitconfig'), '[user]\n  name = New User\n  email = user@example.invalid\n')
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env: GIT_ENV, stdio: 'pipe' })
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('commit', '-q', '-m', 'first')
}

/** The simulator of the installed program, on loopback. */
async function simulate(pcc: string): Promise<{ url: string; end: () => void }> {
  const env = { HOME: home, PATH: `${dirname(process.execPath)}:/usr/bin:/bin` }
  const child = spawn(pcc, ['simulate', join(OWN, 'night.yaml'), '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    return { url: (JSON.parse(line) as { url: string }).url, end: () => child.kill('SIGTERM') }
  }
  throw new Error('The simulator did not start.')
}
