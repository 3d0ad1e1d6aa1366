import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { isInside } from '../../../src/base/is-inside.ts'
import { COVERED } from '../../../src/base/sandbox/bubblewrap.ts'
import { bareEnv, makeRepository, tempDir } from '../../support/world.ts'
import type { Group } from './table.ts'

const MODULES = resolve(import.meta.dirname, '../../../node_modules')

/** Who works here: a home with the settings that people have, and the toolchains of this machine. */
export interface Person {
  home: string
  env: Record<string, string>
}

export const PRIVATE = 'a secret of the person'
const NPM_TOKEN = 'npm-token-1234567890'

export async function aPerson(t: TestContext, at?: Group['at']): Promise<Person> {
  const home = at?.endsWith('behind a link') ? linkTo(t, tempDir(t)) : tempDir(t)
  const outside = await serveOutside(t)
  writeFiles(home, {
    '.gitconfig': `
[include]
  path = dotfiles/git-name
[commit]
  gpgSign = true
[tag]
  gpgSign = true
[user]
  signingKey = 0123456789ABCDEF
[core]
  excludesFile = ~/.ignored-everywhere
`,
    'dotfiles/git-name': '[user]\n  name = Ada Person\n  email = ada@example.invalid\n',
    '.ignored-everywhere': '*.swp\n',
    '.npmrc': `registry=${outside}/npm/\n//127.0.0.1/:_authToken=${NPM_TOKEN}\n`,
    private: PRIVATE,
  })
  // Folders of tools that have no cache yet, and a version that is chosen by a link.
  for (const name of ['.bun/bin', '.local/share/pnpm', '.nvm/versions/v1/bin'])
    mkdirSync(join(home, name), { recursive: true })
  writeFiles(home, { '.nvm/versions/v1/bin/tool-of-nvm': '#!/bin/sh\necho tool of nvm\n' })
  symlinkSync(join(home, '.nvm/versions/v1'), join(home, '.nvm/current'))
  const active = ['.nvm/current/bin', linkVirtualEnvironment(home)].map(name => join(home, name))
  const bare = bareEnv(home)
  const folders = [...active, ...linkToolchains(home), join(MODULES, '.bin'), bare['PATH'], '/usr/sbin', '/sbin']
  const tokens = { GH_TOKEN: 'gho_1234567890abcdef', OTHER_TOKEN: 'other-1234567890' }
  return { home, env: { ...bare, PATH: folders.join(':'), OUTSIDE: outside, ...tokens } }
}

/** Toolchains that are installed in a home. The real home belongs to whoever runs the tests. */
function linkToolchains(home: string): string[] {
  const toolchains = { '.cargo/bin': '.cargo/bin', '.rustup': undefined, '.pyenv': '.pyenv/shims' }
  return Object.entries(toolchains).flatMap(([name, programs]) => {
    const real = join(homedir(), name)
    if (!mayUse(real, constants.R_OK | constants.X_OK)) return []
    mkdirSync(dirname(join(home, name)), { recursive: true })
    symlinkSync(real, join(home, name))
    return programs === undefined ? [] : [join(home, programs)]
  })
}

/** An active virtual environment where Poetry makes them. */
function linkVirtualEnvironment(home: string): string {
  const folder = '.cache/pypoetry/virtualenvs/one'
  writeFiles(home, { [`${folder}/pyvenv.cfg`]: 'home = /usr/bin\ninclude-system-site-packages = false\n' })
  mkdirSync(join(home, folder, 'bin'))
  if (existsSync('/usr/bin/python3')) symlinkSync('/usr/bin/python3', join(home, folder, 'bin/python-of-poetry'))
  return `${folder}/bin`
}

/** A link from a folder that is visible in the sandbox, where we may write to one: no checkout, in which an agent could have put the link. */
function linkTo(t: TestContext, folder: string): string {
  const beside = ['/opt', resolve(MODULES, '../..')].find(each => mayUse(each, constants.W_OK) && isVisible(each))
  const around = beside ? mkdtempSync(join(beside, '.pcc-test-')) : tempDir(t)
  t.after(() => rmSync(around, { recursive: true, force: true }))
  symlinkSync(folder, join(around, 'link'))
  return join(around, 'link')
}

function isVisible(folder: string): boolean {
  return !COVERED.some(covered => isInside(folder, covered)) && !existsSync(join(folder, '.git'))
}

function mayUse(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

/** A server of the person's on 127.0.0.1: a registry of packages, and something like a database. */
async function serveOutside(t: TestContext): Promise<string> {
  const folder = tempDir(t)
  const about = { name: 'from-registry', version: '1.0.0' }
  writeFiles(folder, {
    'package/package.json': JSON.stringify(about),
    'package/index.js': "module.exports = 'it came from the registry'\n",
  })
  const tarball = execFileSync('tar', ['cz', 'package'], { cwd: folder })
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const server = createServer((request, response) => {
    const dist = { tarball: `http://${request.headers.host}/npm/from-registry.tgz`, integrity }
    const known: Record<string, string | Buffer> = {
      '/npm/from-registry': JSON.stringify({
        ...{ name: about.name, 'dist-tags': { latest: about.version } },
        versions: { [about.version]: { ...about, dist } },
      }),
      '/npm/from-registry.tgz': tarball,
      '/database': 'rows of the person',
    }
    const body = known[request.url ?? '']
    response.writeHead(body === undefined ? 404 : 200).end(body ?? '{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The project of a group, in git with a remote, and the folder in which its commands run. */
export function makeProject(t: TestContext, group: Group, { home }: Person): { project: string; directory: string } {
  const project = join(folderFor(t, group.at, home), group.folder ?? 'project')
  writeFiles(project, group.files)
  makeRepository(project)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env: bareEnv(home), stdio: 'pipe' })
  git('config', 'core.hooksPath', 'hooks')
  const directory = group.inWorktree ? join(tempDir(t), 'worktree') : project
  if (group.inWorktree) git('worktree', 'add', '-q', directory, '-b', 'pcc/task')
  git('clone', '-q', '--bare', project, join(directory, 'origin.git'))
  git('remote', 'add', 'origin', join(directory, 'origin.git'))
  return { project, directory }
}

function folderFor(t: TestContext, at: Group['at'], home: string): string {
  if (at?.startsWith('in the home')) return join(home, 'code')
  if (at !== 'another mount' || !existsSync('/dev/shm')) return tempDir(t)
  const folder = mkdtempSync('/dev/shm/pcc-test-')
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function writeFiles(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { mode: text.startsWith('#!') ? 0o755 : 0o644 })
  }
}
