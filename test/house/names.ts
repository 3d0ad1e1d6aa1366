import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** What the program knows. It is passed in, so that a test can check a small tree. */
export interface KnownNames {
  /** The first word after `pcc`. */
  commands: string[]
  /** Full keys of settings, such as `sessions.max_concurrent`. */
  settings: string[]
}

/** Names of other programs that our own code does not contain, and deliberate mistakes. Keep the list short. */
const FOREIGN = new Set(['assert_called_with', 'failIfUnavailable', 'PCC_SESSION_MAX_CONCURRENT'])

/** Pages about the past may mention what no longer exists; only their paths are checked. */
const HISTORY = /^(docs\/adr\/|CHANGELOG\.md$)/
/** A block comment at the start of a line, or the rest of a line after `//`. Nearly exact, and ten times as fast as a parser. */
const COMMENT = /^[ \t]*\/\*[\s\S]*?\*\/|(?<=^|[\s;{(,])\/\/ .*$/gm
const FENCE = /^ *```[\s\S]*?^ *```/gm
const FILE_ENDING = /\.(ts|tsx|js|md|json|jsonl|toml|ya?ml|sh|png|svg|html|txt|log)$/

interface Tree {
  files: Set<string>
  /** Every word of the code of each folder, without comments: identifiers and what stands in strings. */
  words: Set<string>
  wordsOfProgram: Set<string>
  cli: string
  mentions: { path: string; where: string; token: string }[]
}

/** Reports every name in backticks that does not exist: paths, identifiers, commands, flags, settings and variables. */
export function wrongNames(root: string, known: KnownNames): string[] {
  const tree = readNames(root)
  return tree.mentions.flatMap(({ path, where, token }) => {
    const checks = HISTORY.test(path)
      ? [wrongPath]
      : [wrongPath, wrongIdentifier, wrongCommand, wrongSetting, wrongVariable]
    return checks.flatMap(check => {
      const problem = check(token, tree, known)
      return problem === undefined ? [] : [`${where} \`${token}\`: ${problem}`]
    })
  })
}

function wrongPath(token: string, { files }: Tree): string | undefined {
  const path = token.replace(/\/$/, '')
  const isWhole = /^(src|test|scripts|bench|bin|docs|examples|\.ci)\//.test(path)
  if (!/^[\w.*/-]+$/.test(path) || !(isWhole || /\w\.ts$/.test(path))) return undefined
  if (files.has(path)) return undefined
  const pattern = path.replaceAll('.', '\\.').replaceAll(/\*+/g, '[^/]*')
  const wanted = new RegExp(`${isWhole ? '^' : '(^|/)'}${pattern}$`)
  return files.values().some(file => wanted.test(file)) ? undefined : 'there is no such file'
}

/** Checks the names of `someName`, `name()` and `a.someName(…)`. A plain word is prose unless it is called. */
function wrongIdentifier(token: string, { words }: Tree): string | undefined {
  const [, path = '', call] = /^([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)(\(.*\))?$/.exec(token) ?? []
  if (FILE_ENDING.test(token)) return undefined
  const names = path.split('.')
  const gone = names.find(
    (name, at) => (hasHumps(name) || (call && at === names.length - 1)) && !words.has(name) && !FOREIGN.has(name),
  )
  return gone === undefined ? undefined : `nothing in the code is called ${gone}`
}

function hasHumps(name: string): boolean {
  return /^[a-z][a-z0-9]*([A-Z][a-z0-9]*)+$|^([A-Z][a-z0-9]+){2,}$/.test(name)
}

function wrongCommand(token: string, { cli }: Tree, { commands }: KnownNames): string | undefined {
  const [, name] = /^(?:[A-Z_]+=\S+ )*pcc ([a-z]+)(?![a-z]*[-_.])/.exec(token) ?? []
  if (name === undefined) return undefined
  if (!commands.includes(name)) return `there is no command ${name}`
  const flags = [...token.matchAll(/(?<=[\s[|])--(?:\[no-\])?([a-z][a-z-]*)/g)].map(([, flag = '']) => flag)
  const gone = flags.find(flag => !new RegExp(`--(no-)?${flag.replace(/^no-/, '')}(?![a-z-])`).test(cli))
  return gone === undefined ? undefined : `no command has --${gone}`
}

function wrongSetting(token: string, { words }: Tree, { settings }: KnownNames): string | undefined {
  const [, key = ''] = /^([a-z]+(?:\.[a-z_]+)+)(?:\.\*| = .*)?$/.exec(token) ?? []
  const section = `${key.split('.')[0]}.`
  if (FILE_ENDING.test(key) || !settings.some(setting => setting.startsWith(section))) return undefined
  const isKnown = settings.some(setting => setting === key || setting.startsWith(`${key}.`))
  // Events and findings are written the same way, such as `merge.finished`.
  return isKnown || words.has(key) ? undefined : 'there is no such setting'
}

function wrongVariable(token: string, { wordsOfProgram }: Tree, { settings }: KnownNames): string | undefined {
  const named = token.match(/\bPCC_[A-Z0-9_]*[A-Z0-9]\b/g) ?? []
  const isSetting = (name: string) => settings.some(key => `PCC_${key.toUpperCase().replaceAll('.', '_')}` === name)
  const gone = named.find(name => !wordsOfProgram.has(name) && !isSetting(name) && !FOREIGN.has(name))
  return gone === undefined ? undefined : `the program does not read ${gone}`
}

function readNames(root: string): Tree {
  const files = globSync('{.ci,bench,bin,docs,examples,scripts,src,test}{,/**}', {
    cwd: root,
    exclude: path => basename(path) === 'node_modules',
  })
  const read = (path: string) => ({ path, text: readFileSync(join(root, path), 'utf8') })
  const sources = files.filter(path => /^(bench|bin|scripts|src|test)\/.*\.(ts|js|tsx)$/.test(path)).map(read)
  const pages = [...globSync('*.md', { cwd: root }), ...files.filter(path => /^docs\/.*\.md$/.test(path))].map(read)
  const code = sources.map(({ path, text }) => ({ path, text: text.replace(COMMENT, '') }))
  const codeIn = (folder: RegExp) => code.flatMap(({ path, text }) => (folder.test(path) ? [text] : [])).join('\n')
  const comments = sources
    .filter(({ path }) => path.startsWith('src/'))
    .map(({ path, text }) => ({ path, text: keepComments(text) }))
  return {
    files: new Set(files),
    words: wordsIn(codeIn(/./)),
    wordsOfProgram: wordsIn(codeIn(/^(src|scripts|bin)\//)),
    cli: codeIn(/^src\/cli\//),
    mentions: [...pages.map(({ path, text }) => ({ path, text: text.replace(FENCE, blank) })), ...comments].flatMap(
      mentionsIn,
    ),
  }
}

function wordsIn(code: string): Set<string> {
  return new Set([...(code.match(/[\w$]+/g) ?? []), ...(code.match(/(?<=')[a-z]+(\.[a-z_]+)+(?=')/g) ?? [])])
}

/** The comments of a file on their own lines; everything else is empty. */
function keepComments(text: string): string {
  let last = 0
  let kept = ''
  for (const match of text.matchAll(COMMENT)) {
    kept += blank(text.slice(last, match.index)) + match[0]
    last = match.index + match[0].length
  }
  return kept
}

function blank(text: string): string {
  return text.replace(/[^\n]+/g, '')
}

function mentionsIn({ path, text }: { path: string; text: string }): Tree['mentions'] {
  return text
    .split('\n')
    .flatMap((line, at) =>
      [...line.matchAll(/`([^`]+)`/g)].map(([, token = '']) => ({ path, where: `${path}:${at + 1}`, token })),
    )
}

/**
 * Compares the table of folders in docs/architecture.md with the tree: every folder of `src` has a row, and a row names every folder
 * below it, in backticks, and no other.
 */
export function wrongFolders(root: string): string[] {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const rows = new Map(
    [...page.matchAll(/^\| `(src\/\w+)` \| (.*) \|$/gm)].map(([, folder = '', about = '']) => [folder, about]),
  )
  const foldersIn = (folder: string) =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap(each => (each.isDirectory() ? [each.name] : []))
  return [
    ...[...rows.keys()].filter(folder => !existsSync(join(root, folder))).map(folder => `there is no folder ${folder}`),
    ...foldersIn('src').flatMap(name => {
      const about = rows.get(`src/${name}`)
      if (about === undefined) return [`src/${name} has no row`]
      const named = [...about.matchAll(/`([a-z][a-z0-9-]*)(?:\/[^`]*)?`/g)].map(([, folder = '']) => folder)
      const real = foldersIn(`src/${name}`)
      return [
        ...named.filter(folder => !real.includes(folder)).map(folder => `src/${name} has no folder ${folder}`),
        ...real
          .filter(folder => !named.includes(folder))
          .map(folder => `the row of src/${name} does not name ${folder}`),
      ]
    }),
  ].map(problem => `docs/architecture.md: ${problem}`)
}
