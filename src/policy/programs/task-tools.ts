import { dirname, join, resolve } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import type { ProgramCall } from '../classify/call.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, atDoubleDash, deriveArg, findFlags, findOperands, isFlag } from '../shell/args.ts'
import type { TaskForm } from './task-text.ts'

// Which tasks a call of a build tool names, and in which files of the project they are described.

/** Functions, and tasks that are functions. */
export const CODE: TaskForm = {
  begins:
    /^[ \t]*(?:(?:export|default|public|private|static|async|pub|override|final|internal)[ \t]+)*(?:def|defp|function\*?|func|fn|fun|sub|void)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?:self\.)?([A-Za-z_]\w*[?!]?)|^[ \t]*(?:export[ \t]+)?(?:const|let|var|val)[ \t]+([A-Za-z_]\w*)[ \t]*=|^[ \t]*(?:module\.)?exports\.(\w+)[ \t]*=/gm,
  is: 'code',
}

/** The tasks that a call of a build tool names, and where they are described. */
export interface TaskCall {
  /** Real paths of files that may describe them. */
  files: string[]
  form: TaskForm
  tasks: Arg[]
  /** Set if every task stands in these files: one that is not found is a question. */
  isOwn?: boolean
  /** Tasks that the tool has by itself, or that its usual packages add. */
  builtIn?: RegExp
  /** Set if the tool completes the beginnings of names. */
  isShort?: boolean
}

const RUBY: TaskForm = { begins: /^[ \t]*(?:multi)?task[ \t]*\(?[ \t]*[:"']?([\w:?!-]+)/gm, is: 'code' }
const YAML: TaskForm = { begins: /^(?: {2}| {4}|\t)["']?([\w:.-]+)["']?:/gm, is: 'values' }
const JSON_KEYS: TaskForm = { begins: /^[ \t]*"([\w:./-]+)"[ \t]*:/gm, is: 'values', json: true }
const SECTIONS: TaskForm = { begins: /^\[(?:testenv:?|tool\.tox\.env\.)?([\w.-]*)\]/gm, is: 'values', until: /^\[/ }
const HOOKS: TaskForm = { begins: /^[ \t]*-[ \t]+id:[ \t]*([\w.-]+)/gm, is: 'values' }
const ANT: TaskForm = { begins: /<target\b[^>]*?\bname\s*=\s*["']([^"']+)["']/gi, is: 'tags', ends: /<\/target>/i }
const MSBUILD: TaskForm = { begins: /<Target\b[^>]*?\bName\s*=\s*["']([^"']+)["']/gi, is: 'tags', ends: /<\/Target>/i }
const CMAKE: TaskForm = {
  begins:
    /\badd_(?:custom_target|executable|library)\s*\(\s*([\w.-]+)|\badd_custom_command\s*\(\s*(?:OUTPUT|TARGET)\s+([\w./-]+)|\brun_target\s*\(\s*'([\w.-]+)'/g,
  is: 'words',
  ends: /^\s*\)|\)\s*$/,
}
const GRADLE: TaskForm = {
  begins:
    /\btasks\.(?:register|create|named)(?:<[\w.]+>)?\s*\(\s*["'](\w+)["']|^[ \t]*task[ \t]+(?:["']?)(\w+)|\bval[ \t]+(\w+)[ \t]+by[ \t]+tasks\./gm,
  is: 'code',
}
const MIX: TaskForm = {
  begins: /^[ \t]*"?([\w.]+)"?:[ \t]|^[ \t]*defmodule[ \t]+Mix\.Tasks\.([\w.]+)/gm,
  is: 'code',
  steps: 'mix',
}
const GULP: TaskForm = { begins: /\b(?:gulp\.task|grunt\.registerTask|task)\(\s*["']([\w:-]+)["']/g, is: 'code' }

const RAKE_OWN =
  /^(default|test|spec|build|install|release|lint|rubocop|standard|docs?|compile|check|cucumber|stats|notes|about|routes|middleware|secret|yard|rdoc|environment|clean|clobber|(db|test|spec|assets|tmp|log|time|app|zeitwerk|rubocop|standard|i18n|active_storage|action_text|tailwindcss|javascript|css|yarn|webpacker|cucumber|jobs|resque|sidekiq|annotate)(:.*)?)(\[.*\])?$/
const MIX_OWN =
  /^(test|compile|format|deps|credo|dialyzer|docs|xref|hex|help|run|clean|loadpaths|loadconfig|app|archive|escript|local|new|release|profile|phx|ecto|gettext|coveralls|sobelow|doctor|ex_doc|assets|tailwind|esbuild|oban|absinthe|openapi|boundary|nerves|ash|igniter|cmd|do|eval|mneme|swoosh|styler|recode|iex|espec|bench|benchmark|inch|earmark|lint|check|setup|hex_outdated)(\..*)?$/
const CMAKE_OWN =
  /^(all|test|tests|check|clean|help|depend|rebuild_cache|edit_cache|package|package_source|preinstall|[\w./-]+\.(o|obj|a|so|i|s))$/
const DOTNET_OWN =
  /^(Build|Rebuild|Clean|Restore|Pack|Test|VSTest|Compile|GetTargetPath|ResolveReferences|CoreCompile|PrepareForBuild|GenerateRestoreGraphFile)$/i

/** The files of these names in the folder of the call, or in another one. */
function here({ scope }: ProgramCall, names: string, folder = '.'): string[] {
  return names.split(' ').map(name => resolve(scope.cwd ?? '/', folder, name))
}

/** The same in that folder and those above it in the project. */
function upwards(call: ProgramCall, names: string, folder = '.'): string[] {
  const found: string[] = []
  for (let at = resolve(call.scope.cwd ?? '/', folder); isInside(at, call.fence.boundary); at = dirname(at)) {
    found.push(...names.split(' ').map(name => join(at, name)))
    if (at === '/') break
  }
  return found
}

/** Files with such a name directly in a folder. */
function listFiles(call: ProgramCall, folder: string, name: RegExp): string[] {
  const path = resolve(call.scope.cwd ?? '/', folder)
  const place = locatePath(path, call.fence.boundary, call.fence)
  const found = place.where === 'inside' ? call.fence.look?.(place.path) : undefined
  return found?.is === 'folder'
    ? found.names
        .filter(one => name.test(one))
        .slice(0, MAX_FILES)
        .map(one => join(path, one))
    : []
}

const named = (args: readonly Arg[], valued: string) =>
  findOperands(atDoubleDash(args).before, valued.split(' ')).filter(({ known, value }) => known && !value.includes('='))
const valuesOf = (args: readonly Arg[], flags: string, letters = '') =>
  findFlags(args, flags.split(' '), letters).flatMap(({ value }) =>
    value?.known ? value.value.split(/[,;]/).map(one => deriveArg(one, value)) : [],
  )

/** For each build tool, the tasks that a call runs. */
const TOOLS: Record<string, (call: ProgramCall) => TaskCall | undefined> = {
  rake: call => ({
    files: [
      ...upwards(call, 'Rakefile rakefile Rakefile.rb'),
      ...listFiles(call, 'lib/tasks', /\.rake$/),
      ...listFiles(call, 'rakelib', /\.rake$/),
    ],
    form: RUBY,
    tasks: named(call.args, '-f -C -I -r -R -j'),
    isOwn: !call.args.some(({ value }) => /^(-[TPDWAn]+|--(tasks|prereqs|dry-run|describe|where))$/.test(value)),
    builtIn: RAKE_OWN,
  }),
  nox: call => ({
    files: here(call, 'noxfile.py'),
    form: CODE,
    tasks: [...valuesOf(call.args, '-s -e --session --sessions', 'se'), ...named(call.args, '-f -t -k -p -s -e')].map(
      trimVersion,
    ),
    isOwn: true,
  }),
  ...Object.fromEntries(
    ['inv', 'invoke'].map(name => [
      name,
      (call: ProgramCall) => ({
        files: [...upwards(call, 'tasks.py'), ...listFiles(call, 'tasks', /\.py$/)],
        form: CODE,
        tasks: named(call.args, '-c -r -f').slice(0, 1),
        isOwn: !call.args.some(({ value }) => /^(-l|--list)$/.test(value)),
      }),
    ]),
  ),
  doit: call => ({
    files: here(call, 'dodo.py'),
    form: { ...CODE, begins: /^[ \t]*def[ \t]+task_(\w+)/gm },
    tasks: named(call.args, '-f -d -n').filter(({ value }) => !/^(list|run|info|help|clean|forget)$/.test(value)),
    isOwn: true,
  }),
  task: call => ({
    files: here(
      call,
      'Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml',
      valuesOf(call.args, '-d --dir', 'd')[0]?.value,
    ),
    form: YAML,
    tasks: named(call.args, '-d --dir -t --taskfile -o -C'),
    isOwn: !call.args.some(({ value }) => /^(-[lna]+|--(list|list-all|dry|summary|status))$/.test(value)),
    builtIn: /^default$/,
  }),
  mage: call => ({
    files: listFiles(call, '.', /^mage\w*\.go$/).concat(listFiles(call, 'magefiles', /\.go$/)),
    form: CODE,
    tasks: named(call.args, '-d -w -t'),
    isOwn: true,
  }),
  ...Object.fromEntries(
    ['gulp', 'grunt'].map(name => [
      name,
      (call: ProgramCall) => ({
        files: here(
          call,
          'gulpfile.js gulpfile.mjs gulpfile.cjs gulpfile.ts Gruntfile.js Gruntfile.cjs Gruntfile.ts gulpfile.js/index.js',
        ),
        form: GULP,
        tasks: named(call.args, '-f --gulpfile --cwd'),
        isOwn: true,
        builtIn: /^(default|build|test|lint|watch|clean)$/,
      }),
    ]),
  ),
  deno: call => {
    const [verb, task] = named(call.args, '--config -c --cwd')
    return verb?.value === 'task' && task
      ? { files: upwards(call, 'deno.json deno.jsonc package.json'), form: JSON_KEYS, tasks: [task], isOwn: true }
      : undefined
  },
  composer: call => {
    const [verb, task] = named(call.args, '-d --working-dir')
    const folder = valuesOf(call.args, '-d --working-dir', 'd')[0]?.value
    return /^(run|run-script|exec)$/.test(verb?.value ?? '') && task
      ? { files: here(call, 'composer.json', folder), form: JSON_KEYS, tasks: [task] }
      : undefined
  },
  melos: call => {
    const [verb, task] = named(call.args, '--scope')
    return verb?.value === 'run' && task
      ? { files: upwards(call, 'melos.yaml pubspec.yaml'), form: YAML, tasks: [task], isOwn: true }
      : undefined
  },
  ...Object.fromEntries(
    ['turbo', 'lerna'].map(name => [
      name,
      (call: ProgramCall) => {
        const [verb, ...tasks] = named(call.args, '--filter -F --scope --concurrency --ignore')
        const files = ['packages', 'apps', 'libs', 'services'].flatMap(folder =>
          listFiles(call, folder, /^[^/]+\/package\.json$/),
        )
        return { files, form: JSON_KEYS, tasks: verb?.value === 'run' ? tasks : verb ? [verb] : [] }
      },
    ]),
  ),
  tox: call => ({
    files: here(call, 'tox.ini pyproject.toml setup.cfg tox.toml'),
    form: SECTIONS,
    tasks: [...valuesOf(call.args, '-e --env', 'e'), deriveArg('', call.head)],
  }),
  ...Object.fromEntries(
    ['pre-commit', 'pre_commit', 'prek'].map(name => [
      name,
      (call: ProgramCall) => {
        const [verb, hook] = named(call.args, '-c --config --files --from-ref --to-ref --hook-stage')
        return verb?.value === 'run'
          ? { files: here(call, '.pre-commit-config.yaml'), form: HOOKS, tasks: hook ? [hook] : [] }
          : undefined
      },
    ]),
  ),
  ...Object.fromEntries(
    ['gradle', 'gradlew'].map(name => [
      name,
      (call: ProgramCall) => {
        const tasks = named(call.args, '-p --project-dir -x --exclude-task --tests -D -P --console -w')
        const [top = '.'] = valuesOf(call.args, '-p --project-dir').map(({ value }) => value)
        const parts = tasks.map(({ value }) => value.split(':').slice(0, -1).join('/').replace(/^\//, ''))
        const included = listIncluded(call, top)
        return {
          files: [...new Set([...parts, '', ...included])].flatMap(part =>
            here(call, 'build.gradle build.gradle.kts', join(top, part)),
          ),
          form: GRADLE,
          tasks,
          isShort: true,
        }
      },
    ]),
  ),
  ant: call => ({
    files: here(call, valuesOf(call.args, '-f -file -buildfile')[0]?.value ?? 'build.xml'),
    form: ANT,
    tasks: named(call.args, '-f -file -buildfile -l -logger'),
    isOwn: true,
  }),
  mix: call => {
    const [first, ...rest] = call.args.filter(arg => !isFlag(arg))
    const parts =
      first?.value === 'do'
        ? rest
            .map(arg => arg.value)
            .join(' ')
            .split(/[+,]/)
            .map(part => part.trim().split(/\s+/)[0] ?? '')
        : [first?.value ?? '']
    const folder = 'lib/mix/tasks'
    const tasks = parts.filter(Boolean).map(part => deriveArg(part, first ?? call.head))
    return {
      files: [
        ...here(call, 'mix.exs'),
        ...tasks.flatMap(({ value }) =>
          here(call, `${value}.ex ${value.replaceAll('.', '/')}.ex ${value.replaceAll('.', '_')}.ex`, folder),
        ),
      ],
      form: MIX,
      tasks,
      isOwn: true,
      builtIn: MIX_OWN,
    }
  },
  cmake: call => {
    const build = valuesOf(call.args, '--build')[0]?.value
    const native = call.args.findIndex(({ value }) => value === '--')
    const tasks = [
      ...valuesOf(call.args, '-t --target', 'tj'),
      ...listMore(call.args),
      ...(native < 0 ? [] : named(call.args.slice(native + 1), '-j -k -l')),
    ]
    return build === undefined ? undefined : { ...describeBuild(call, build), tasks }
  },
  ninja: call => ({
    ...describeBuild(call, valuesOf(call.args, '-C', 'Cjkl')[0]?.value ?? '.'),
    tasks: named(call.args, '-C -j -k -l -f -w -t -d').filter(({ value }) => !value.includes('/')),
  }),
  meson: call => {
    const [verb, ...tasks] = named(call.args, '-C -j -l')
    return verb?.value === 'compile'
      ? { ...describeBuild(call, valuesOf(call.args, '-C', 'Cjl')[0]?.value ?? '.'), tasks }
      : undefined
  },
  dotnet: call => {
    const [verb, file] = named(call.args, '-c -f -r -v -o --configuration --framework --verbosity')
    if (!/^(build|msbuild|pack|publish|test)$/.test(verb?.value ?? '')) return undefined
    const folder = file === undefined ? '.' : /proj$|\.sln$/.test(file.value) ? dirname(file.value) : file.value
    const files =
      file && /proj$/.test(file.value) ? here(call, file.value) : listFiles(call, folder, /^[^/]+\.\w*proj$/)
    const tasks = call.args.flatMap(arg =>
      (/^(?:--?|\/)t(?:arget)?:(.*)$/i.exec(arg.value)?.[1]?.split(/[;,]/) ?? []).map(one => deriveArg(one, arg)),
    )
    return {
      files: [...files, ...upwards(call, 'Directory.Build.targets Directory.Build.props', folder)],
      form: MSBUILD,
      tasks,
      isOwn: true,
      builtIn: DOTNET_OWN,
    }
  },
  nx: call => {
    const words = named(call.args, '-c --configuration -t --target --targets -p --projects --parallel')
    const [verb, second] = words
    const one = /^(run)$/.test(verb?.value ?? '') ? second?.value.split(':') : [second?.value, verb?.value]
    const [project = '', task = ''] = one ?? []
    const target = second ?? verb
    if (
      !target ||
      /^(run-many|affected|graph|show|format.*|list|report|reset|migrate|exec|sync.*)$/.test(verb?.value ?? '')
    )
      return undefined
    const folders = ['.', 'apps', 'libs', 'packages', 'services', 'tools'].map(folder => join(folder, project))
    return {
      files: folders.flatMap(folder => here(call, 'project.json package.json', folder)),
      form: JSON_KEYS,
      tasks: [deriveArg(task, target)],
    }
  },
  cargo: call => {
    const [verb, task] = named(call.args, '--manifest-path')
    return verb?.value === 'xtask' && task
      ? { files: upwards(call, 'xtask/src/main.rs'), form: CODE, tasks: [task], isOwn: true }
      : undefined
  },
}

/** `--target a b`: cmake takes several. */
function listMore(args: readonly Arg[]): Arg[] {
  const start = args.findIndex(({ value }) => /^(-t|--target)$/.test(value))
  const after = start < 0 ? [] : args.slice(start + 2)
  const end = after.findIndex(isFlag)
  return end < 0 ? after : after.slice(0, end)
}

function trimVersion(task: Arg): Arg {
  return deriveArg(task.value.replace(/-\d[\d.]*$/, ''), task)
}

/** The folders of the parts of a build with Gradle. */
function listIncluded(call: ProgramCall, top: string): string[] {
  const texts = here(call, 'settings.gradle settings.gradle.kts', top).map(
    path => (isInside(path, call.fence.boundary) ? readText(call, path) : undefined) ?? '',
  )
  return texts
    .flatMap(text => [...text.matchAll(/["']:?([\w:-]+)["']/g)].map(([, name = '']) => name.replaceAll(':', '/')))
    .slice(0, MAX_FILES)
}

/** The files from which a folder of builds was made: beside it or above it, and those in the folders that they add. */
function describeBuild(call: ProgramCall, build: string): Omit<TaskCall, 'tasks'> {
  const tops = upwards(call, 'CMakeLists.txt meson.build', join(build, '..'))
  const added = tops.flatMap(path => {
    const text = (path.endsWith('.txt') && readText(call, path)) || ''
    return [...text.matchAll(/\badd_subdirectory\s*\(\s*([\w./-]+)|\binclude\s*\(\s*([\w./-]+\.cmake)/g)].map(
      ([, folder, file = '']) => join(dirname(path), folder === undefined ? file : `${folder}/CMakeLists.txt`),
    )
  })
  return { files: [...tops, ...added], form: CMAKE, isOwn: true, builtIn: CMAKE_OWN }
}

/** More files than this are not read for one task. */
export const MAX_FILES = 16

/** The tasks of a call, if it is one of such a tool. */
export function findCalledTasks(call: ProgramCall): TaskCall | undefined {
  return Object.hasOwn(TOOLS, call.name) ? TOOLS[call.name]?.(call) : undefined
}

/** The text of a file of the project, given its real path. */
export function readText({ fence }: ProgramCall, path: string): string | undefined {
  const found = fence.look?.(path)
  return found?.is === 'file' && !found.bytes.includes(0) ? found.bytes.toString('utf8') : undefined
}
