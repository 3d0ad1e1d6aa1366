import { dirname, join } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import { isObject, parseJson } from '../../base/json.ts'
import { describeUnlisted, UNLISTED } from '../../domain/assessment.ts'
import type { ProgramCall } from '../classify/call.ts'
import { type FoundFile, locatePath } from '../paths/fence.ts'
import { type Arg, isFlag } from '../shell/args.ts'

/** Where packages come from. Each registry has its own names and lock files. */
export type Registry = 'npm' | 'python' | 'cargo' | 'go' | 'ruby' | 'php'

/** Tells by the text of a lock file whether it names a package. */
type ReadLock = (text: string) => (name: string) => boolean

/**
 * Lock files of each registry that can be searched, by their names: packages of others are always asked about. A list of requirements counts as one: many
 * Python projects have nothing else.
 */
const LOCK_FILES: Record<Registry, Record<string, ReadLock>> = {
  npm: {
    'package-lock.json': readPackageLock,
    'npm-shrinkwrap.json': readPackageLock,
    'yarn.lock': byPattern(name => `^"?([^\\n]*, "?)?${RegExp.escape(name)}@`),
    'pnpm-lock.yaml': byPattern(name => `^\\s+'?/?${RegExp.escape(name)}(@|/\\d|'?:\\s+\\{?specifier:)`),
    'bun.lock': text => name => text.includes(`["${name}@`),
  },
  python: {
    'uv.lock': byPattern(inTomlLock, 'mi'),
    'poetry.lock': byPattern(inTomlLock, 'mi'),
    'pdm.lock': byPattern(inTomlLock, 'mi'),
    'Pipfile.lock': readPipfileLock,
    'requirements.txt': byPattern(inRequirements, 'mi'),
    'requirements-dev.txt': byPattern(inRequirements, 'mi'),
    'dev-requirements.txt': byPattern(inRequirements, 'mi'),
    'constraints.txt': byPattern(inRequirements, 'mi'),
  },
  cargo: { 'Cargo.lock': byPattern(inTomlLock, 'mi') },
  go: {
    'go.sum': text => name =>
      moduleNames(name).some(module => new RegExp(`^${RegExp.escape(module)} v`, 'm').test(text)),
  },
  ruby: { 'Gemfile.lock': byPattern(name => `^ +${RegExp.escape(name)} \\(`) },
  php: { 'composer.lock': text => name => text.includes(`"name": "${name.toLowerCase()}"`) },
}

/** Adds a reason for packages by name that no lock file of the project names: nobody has seen them yet. */
export function judgeUnlisted(call: ProgramCall, packages: readonly Arg[], registry: Registry): undefined {
  judgeEarly(call)
  const named = packages.filter(arg => arg.known).map(arg => ({ arg, name: packageName(arg.value, registry) }))
  if (named.every(({ name }) => name === undefined)) return
  const isListed = readLocks(call, registry)
  const unlisted = named.filter(({ name }) => name !== undefined && !isListed(name))
  for (const { arg, name = '' } of unlisted) {
    say(call, name, arg)
    const known = arg.value.includes('://') ? undefined : findLookAlike(call, name, registry)
    if (known !== undefined)
      call.say('pkg.look-alike', 'MEDIUM', `${name} is spelled nearly like ${known}, and is another package`, arg)
  }
}

/** Adds the reason that a command fetches other versions than those that the lock file names. Nobody has seen them yet. */
export function judgeUpdate(call: ProgramCall, at: Arg | undefined): undefined {
  call.say('pkg.update', 'MEDIUM', `${call.name} fetches versions that no lock file names`, at)
  // The newest version of everything breaks what the manifest promises.
  const latest = call.args.find(({ value }) => /^(--latest|-L|--major)$/.test(value))
  const names = call.args.filter(arg => !isFlag(arg) && arg !== at)
  if (latest && names.length === 0)
    call.say('pkg.latest', 'MEDIUM', `${latest.text} takes the newest version of everything`, latest)
  judgeEarly(call)
}

function judgeEarly(call: ProgramCall): undefined {
  const early = call.args.find(({ value }) => EARLY.test(value))
  if (early) call.say('pkg.early', 'MEDIUM', `${early.text} takes versions that are not released yet`, early)
}

/** Flags and tags that take what is not released yet. */
const EARLY =
  /^--(pre|prerelease(s|=.*)?|allow-pre\w*|pre-release|pre-id.*|unstable|bleeding-edge|major-versions)$|^@?[\w./-]+@(next|canary|nightly|beta|alpha|rc|dev|edge|insiders?|experimental|preview)$/

/** Packages that everybody uses, and those of the same kind whose names are near to theirs. */
const POPULAR: Partial<Record<Registry, string>> = {
  npm: `express react preact lodash left-pad axios chalk commander debug dotenv eslint tslint prettier typescript webpack rollup vitest mocha moment
    mongoose request colors color jquery redux next nodemon winston socket.io passport bcrypt bcryptjs jsonwebtoken cross-env prisma
    esbuild rimraf minimist inquirer puppeteer playwright cheerio ioredis redis mysql mysql2 sqlite3 nodemailer multer validator`,
  python: `requests urllib3 numpy numba pandas flask django fastapi pytest scipy matplotlib pillow boto3 botocore click pyyaml cryptography
    sqlalchemy setuptools jinja2 beautifulsoup4 colorama tensorflow torch httpx aiohttp pydantic python-dateutil psycopg2 redis celery`,
  cargo:
    'serde serde_json serde_yaml tokio rand clap regex anyhow reqwest futures hyper thiserror tracing chrono rayon syn quote',
  ruby: 'rails rspec nokogiri devise sidekiq rubocop bundler sinatra faraday capistrano',
}

/** The package that somebody may have meant: one letter more, less, or another one, or two in the wrong order. */
function findLookAlike(call: ProgramCall, name: string, registry: Registry): string | undefined {
  const popular = POPULAR[registry]?.split(/\s+/) ?? []
  if (name.length < 5 || popular.includes(name.toLowerCase())) return undefined
  const manifest =
    registry === 'npm' ? foldersAbove(call).map(folder => readText(call, join(folder, 'package.json'))) : []
  const own = manifest.flatMap(text => [...(text ?? '').matchAll(/"((?:@[\w.-]+\/)?[\w.-]{5,})"\s*:\s*"[\^~\d]/g)])
  const listed = registry === 'python' ? listRequirements(call) : []
  // `lodahs-utils` looks like a part of lodash.
  const [, base = name, end = ''] =
    /^(.{5,}?)[-_.](utils?|js|ts|node|core|cli|helpers?|plus|lib|tools?|pro|fixed|next|patched|official|secure|latest|new|v?\d+)$/.exec(
      name,
    ) ?? []
  const stem = base.toLowerCase()
  const [first = ''] = name.toLowerCase().split(/[-_.]/)
  return [...popular, ...own.map(([, one = '']) => one), ...listed].find(
    one =>
      one.length > 4 &&
      one !== name.toLowerCase() &&
      ([name.toLowerCase(), stem].some(each => isNear(each, one)) ||
        (first.length > 4 && first.length === one.length && isSwapped(first, one)) ||
        (stem === one && LURES.test(end)) ||
        new RegExp(`^${RegExp.escape(one)}[-_.]?\\d$`).test(name.toLowerCase())),
  )
}

/** What is put behind the name of a package to look like a better one. */
const LURES = /^(fixed|patched|official|secure|latest|new|pro|plus)$/

/** The packages of the project in Python, by its lists of requirements. */
function listRequirements(call: ProgramCall): string[] {
  return foldersAbove(call).flatMap(folder =>
    ['requirements.txt', 'requirements-dev.txt', 'dev-requirements.txt', 'pyproject.toml'].flatMap(file =>
      [
        ...(readText(call, join(folder, file)) ?? '').matchAll(
          /^[ \t"']*([A-Za-z][\w.-]{4,})(?=\s*(\[[\w,]*\])?\s*[=<>~!]=)/gm,
        ),
      ].map(([, one = '']) => one.toLowerCase()),
    ),
  )
}

/** Whether two words differ in the order of two letters that stand together. */
function isSwapped(one: string, other: string): boolean {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return (
    one !== other && one[at] === other[at + 1] && one[at + 1] === other[at] && one.slice(at + 2) === other.slice(at + 2)
  )
}

function isNear(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1) return false
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const [rest, wanted] = [one.slice(at), other.slice(at)]
  return (
    rest.slice(1) === wanted || rest === wanted.slice(1) || rest.slice(1) === wanted.slice(1) || isSwapped(one, other)
  )
}

/** The same for a program that is fetched and run if it is not installed. */
export function judgeUnlistedProgram(call: ProgramCall, program: Arg): undefined {
  const name = program.known ? packageName(program.value, 'npm') : undefined
  if (name === undefined || readLocks(call, 'npm')(name) || isInstalled(call, program.value)) return
  say(call, name, program)
}

/** The same for what `package.json` names, which is what an install without names fetches. */
export function judgeUnlistedManifest(call: ProgramCall, verb: Arg | undefined): undefined {
  const folder = foldersAbove(call).find(path => readText(call, join(path, 'package.json')) !== undefined)
  const manifest = folder && parseJson(readText(call, join(folder, 'package.json')) ?? '')
  if (!isObject(manifest)) return
  const wanted = DEPENDENCIES.flatMap(field => Object.entries(isObject(manifest[field]) ? manifest[field] : {}))
  const names = wanted
    .filter(([, version]) => !/^(file|link|workspace|portal):/.test(`${version}`))
    // Under an alias another package is installed.
    .map(([name, version]) => /^npm:(@?[^@]+)/.exec(`${version}`)?.[1] ?? name)
  if (names.length === 0) return
  const isListed = readLocks(call, 'npm')
  const unlisted = [...new Set(names)].filter(name => !isListed(name))
  for (const name of unlisted.slice(0, MOST_NAMED)) say(call, name, verb)
}

/** A project without a lock file may name hundreds. */
const MOST_NAMED = 20
const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies']

function say(call: ProgramCall, name: string, at: Arg | undefined): undefined {
  call.say(UNLISTED, 'MEDIUM', describeUnlisted(name), at)
}

/** The name of a package without its version; undefined for addresses and paths, which are judged as such. */
function packageName(text: string, registry: Registry): string | undefined {
  if (registry === 'go') return /^[\w-]+(\.[\w-]+)+\/[\w./+~-]+/.exec(text)?.[0]
  if (registry === 'npm') return /^(npm:)?((@[\w.~-]+\/)?[\w~-][\w.~-]*)(@[^/:]*)?$/.exec(text)?.[2]
  if (registry === 'php') return /^([\w.-]+\/[\w.-]+)([:=@ ].*)?$/.exec(text)?.[1]
  return /^([A-Za-z0-9][\w.-]*)(\s*[[=<>~!@;: ].*)?$/.exec(text)?.[1]
}

/** Reads the lock files of the project once, and tells which names are in one of them. */
function readLocks(call: ProgramCall, registry: Registry): (name: string) => boolean {
  const locks = foldersAbove(call).flatMap(folder =>
    Object.entries(LOCK_FILES[registry]).flatMap(([file, read]) => {
      const text = readText(call, join(folder, file))
      return text === undefined ? [] : [read(text)]
    }),
  )
  return name => locks.some(names => names(name))
}

/** Whether a program of this name is in `node_modules/.bin`. */
export function isInstalled(call: ProgramCall, program: string): boolean {
  return foldersAbove(call).some(folder => {
    const found = look(call, join(folder, 'node_modules/.bin'))
    return found?.is === 'folder' && found.names.includes(program)
  })
}

/** The folder in which the command runs, and those above it in the project, nearest first. */
function foldersAbove({ scope, fence: { boundary } }: ProgramCall): string[] {
  const folders: string[] = []
  // It is not known where the command runs, or it runs elsewhere.
  if (scope.cwd === undefined) return []
  for (let at = scope.cwd; isInside(at, boundary); at = dirname(at)) {
    folders.push(at)
    if (at === boundary) break
  }
  return folders
}

function readText(call: ProgramCall, path: string): string | undefined {
  const found = look(call, path)
  return found?.is === 'file' ? found.bytes.toString('utf8') : undefined
}

/** Nothing behind a link that leads out of the project counts. */
function look({ fence }: ProgramCall, path: string): FoundFile | undefined {
  const place = locatePath(path, fence.boundary, fence)
  return place.where === 'inside' ? fence.look?.(place.path) : undefined
}

function readPackageLock(text: string): (name: string) => boolean {
  const lock = parseJson(text)
  if (!isObject(lock)) return () => false
  const paths = isObject(lock['packages']) ? Object.keys(lock['packages']) : []
  const older = isObject(lock['dependencies']) ? Object.keys(lock['dependencies']) : []
  const installed = paths.flatMap(path => /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1] ?? [])
  const names = new Set([...installed, ...older])
  return name => names.has(name)
}

function readPipfileLock(text: string): (name: string) => boolean {
  const lock = parseJson(text)
  if (!isObject(lock)) return () => false
  const names = ['default', 'develop'].flatMap(field => (isObject(lock[field]) ? Object.keys(lock[field]) : []))
  return name => names.some(each => new RegExp(`^${pythonPattern(name)}$`, 'i').test(each))
}

function inTomlLock(name: string): string {
  return `^name = "${pythonPattern(name)}"`
}

function inRequirements(name: string): string {
  return `^${pythonPattern(name)}\\s*([\\[=<>~!@;#]|$)`
}

/** Python does not tell `-`, `_` and `.` apart, nor upper and lower case. */
function pythonPattern(name: string): string {
  return name
    .split(/[-_.]+/)
    .map(part => RegExp.escape(part))
    .join('[-_.]+')
}

/** A package of Go may be a folder of its module. */
function moduleNames(path: string): string[] {
  const steps = path.split('/')
  return steps.map((_, at) => steps.slice(0, at + 1).join('/'))
}

function byPattern(pattern: (name: string) => string, flags = 'm'): ReadLock {
  return text => name => new RegExp(pattern(name), flags).test(text)
}
