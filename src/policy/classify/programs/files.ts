import { globFindsSecret, secretPart } from '../../paths/secret-files.ts'
import type { Call, Rules } from '../call.ts'
import { type Arg, isFlag, made } from '../words/arg.ts'
import { findFlag, operandsOf } from '../words/flags.ts'
import { named } from './build.ts'
import { judgeScriptFile } from './script-file.ts'

/** Programs that make, move, pack and edit files. */
export const FILES: Rules = {
  mkdir: call => writes(call, operandsOf(call.args, ['-m', '--mode']), 'file.make', 'makes folders'),
  touch: call =>
    writes(
      call,
      operandsOf(call.args, ['-t', '-d', '-r', '--date', '--reference']),
      'file.make',
      'makes files or changes their time',
    ),
  mktemp: call => call.say('file.make', 'MEDIUM', 'mktemp makes a file'),
  mkfifo: call => writes(call, operandsOf(call.args, ['-m']), 'file.make', 'makes a pipe'),
  mknod: call => call.say('disk', 'HIGH', 'mknod makes devices'),
  ...named('cp gcp', copy('file.copy', 'copies files')),
  ...named('mv gmv', call => {
    copy('file.move', 'moves files')(call)
    for (const arg of sourcesOf(call)) call.path(arg, 'write')
  }),
  install: copy('file.copy', 'copies files and sets their rights', 'HIGH'),
  rename: call => call.say('file.move', 'HIGH', 'rename changes many names by a program text'),
  ...named('ln link', call => {
    const operands = operandsOf(call.args, ['-t', '-S', '--target-directory', '--suffix'])
    const [target] = operands
    const places = operands.length > 1 ? operands.slice(1) : []
    writes(call, places, 'file.link', 'makes links')
    if (target === undefined) return
    if (!target.known || leadsOut(call, target))
      call.say('file.link-out', 'HIGH', `${target.text} leads out of the project`, target)
    call.secret(target)
  }),
  tee: call => {
    const files = operandsOf(call.args)
    for (const arg of files) {
      if (arg.known && /^\/dev\/(null|std(out|err)|tty|fd\/\d+)$/.test(arg.value)) continue
      call.path(arg, 'write')
      call.say('write.redirect', 'HIGH', `tee writes ${arg.text}; the Write tool does this in the open`, arg)
    }
  },
  patch: call => {
    call.say('file.edit', 'MEDIUM', 'patch changes files')
    const [file] = operandsOf(call.args, ['-i', '-o', '-p', '-d', '-r', '-B', '-D', '-F', '-g', '-V', '-Y', '-z'])
    if (file) call.path(file, 'write')
    for (const arg of call.args) call.secret(arg)
    const out = findFlag(call.args, ['-o', '--output', '-d', '--directory', '-r', '--reject-file'], 'iopdrBDFgVYz')
    if (out?.value) call.path(out.value, 'write')
  },
  ...named('sed gsed', sed),
  ...named('find gfind', find),
  ...named('fd fdfind', call => {
    const place = call.args.findIndex(arg => /^(-x|-X|--exec|--exec-batch|--exec=.*|--exec-batch=.*)$/.test(arg.value))
    if (place >= 0) call.run(call.args.slice(place + 1).filter(arg => arg.value !== ';'))
    const operands = operandsOf(place < 0 ? call.args : call.args.slice(0, place), [
      '-e',
      '-t',
      '-d',
      '-E',
      '-g',
      '-j',
      '-S',
      '--extension',
      '--type',
      '--max-depth',
      '--exclude',
      '--changed-within',
      '--base-directory',
    ])
    for (const arg of operands.slice(1)) call.path(arg, 'read')
  }),
  ...named('tar gtar bsdtar', tar),
  ...named('zip 7z 7za 7zr rar', call => {
    const moves = call.args.find(arg =>
      /^(-m|--move|-sdel|-df|-dr|-d|--delete|mf|-T|-TT|--test|--unzip-command)/.test(arg.value),
    )
    if (moves) call.say('file.delete', 'HIGH', `${moves.text} deletes what it packs, or runs something`, moves)
    archive(call)
  }),
  ...named('unzip unrar unar gunzip bunzip2 unxz unzstd uncompress', call => {
    const lists = call.args.some(arg => /^-[a-z]*[ltpvZ][a-z]*$/.test(arg.value)) && call.name !== 'gunzip'
    if (!lists) archive(call)
    const out = findFlag(call.args, ['-d', '-o'], 'dxP')
    if (call.name === 'unzip' && out?.value && /^-d/.test(out.arg.value)) call.path(out.value, 'write')
  }),
  ...named('gzip bzip2 xz zstd lz4 compress brotli pigz', call => {
    const [only] = call.args
    if (call.args.some(arg => /^-[a-z]*c|--stdout|^-l$|^-t$|--list|--test/.test(arg.value))) {
      for (const arg of operandsOf(call.args)) call.path(arg, 'read')
      return
    }
    call.say('file.edit', only ? 'MEDIUM' : 'MEDIUM', `${call.name} replaces files`)
    for (const arg of operandsOf(call.args)) call.secret(arg)
  }),
  ...named('cpio ar pax shar', call => archive(call)),
  ...named('rsync', call => {
    const remote = call.args.some(arg => /^[^/]*:|^rsync:\/\//.test(arg.value) && !isFlag(arg))
    const deletes = call.args.find(arg => /^--(delete.*|remove-source-files|force|inplace)$/.test(arg.value))
    const runs = findFlag(call.args, ['-e', '--rsh', '--rsync-path'], 'efBTM')
    if (deletes) call.say('file.delete', 'HIGH', `${deletes.text} deletes files`, deletes)
    if (runs) call.say('flag.runs', 'HIGH', `${runs.arg.text} runs a program`, runs.arg)
    if (remote) call.say('net.transfer', 'HIGH', 'rsync copies to or from another machine')
    copy('file.copy', 'copies files')(call)
  }),
  ...named('convert magick mogrify ffmpeg pandoc wkhtmltopdf inkscape gs ghostscript dot', call => {
    call.say('file.convert', 'MEDIUM', `${call.name} writes files`)
    for (const arg of call.args) call.secret(arg)
    if (
      call.args.some(arg =>
        /^(--lua-filter|--filter|-F|-L|--pdf-engine|-dNOSAFER|--enable-local-file-access|ephemeral:|msl:|-write$)/.test(
          arg.value,
        ),
      )
    )
      call.say('flag.runs', 'HIGH', `${call.name} runs code`)
  }),
}

function writes(call: Call, places: Arg[], code: string, text: string): undefined {
  call.say(code, 'MEDIUM', `${call.name} ${text}`)
  for (const arg of places) call.path(arg, 'write')
}

function sourcesOf(call: Call): Arg[] {
  const operands = operandsOf(call.args, [
    '-t',
    '-S',
    '-m',
    '-o',
    '-g',
    '--target-directory',
    '--suffix',
    '--mode',
    '--owner',
    '--group',
  ])
  return findFlag(call.args, ['-t', '--target-directory'], 'tSmog') ? operands : operands.slice(0, -1)
}

function copy(code: string, text: string, risk: 'MEDIUM' | 'HIGH' = 'MEDIUM') {
  return (call: Call): undefined => {
    call.say(code, risk, `${call.name} ${text}`)
    const operands = operandsOf(call.args, [
      '-t',
      '-S',
      '-m',
      '-o',
      '-g',
      '-e',
      '--target-directory',
      '--suffix',
      '--exclude',
      '--include',
    ])
    const into = findFlag(call.args, ['-t', '--target-directory'], 'tSmog')
    const target = into?.value ?? operands.at(-1)
    for (const arg of sourcesOf(call)) {
      if (arg.value === '/dev/null') call.say('file.delete', 'HIGH', 'a copy of nothing empties a file', arg)
      call.path(arg, 'read')
    }
    if (target?.value === '/dev/null' && code === 'file.move')
      call.say('file.delete', 'HIGH', 'it moves files into nothing', target)
    if (target && !/^[^/]+:/.test(target.value)) call.path(target, 'write')
  }
}

function leadsOut(call: Call, arg: Arg): boolean {
  if (/^(\/|~)/.test(arg.value)) return !arg.value.startsWith(`${call.fence.boundary}/`)
  // Relative targets are read from where the link lies; more ups than downs may leave.
  return arg.value.split('/').filter(part => part === '..').length > 1
}

function archive(call: Call): undefined {
  call.say('file.archive', 'MEDIUM', `${call.name} packs or unpacks files`)
  for (const arg of operandsOf(call.args)) call.secret(arg)
}

/** sed: LOW as a filter, MEDIUM in place; its own commands `w`, `e`, `r` write, run and read. */
function sed(call: Call): undefined {
  const inPlace = call.args.find(
    arg => /^(-[a-zA-Z]*i.*|--in-place.*)$/.test(arg.value) && !/^-[a-zA-Z]*[ef]/.test(arg.value),
  )
  const file = findFlag(call.args, ['-f', '--file'], 'efls')
  if (file?.value) judgeScriptFile(call, file.value)
  const texts: Arg[] = []
  for (const [place, arg] of call.args.entries()) {
    const joined = /^(?:--expression=|-[a-zA-Z]*e)(.+)$/s.exec(arg.value)
    if (joined && isFlag(arg)) texts.push(made(joined[1] ?? '', arg))
    else if (/^(-[a-zA-Z]*e|--expression)$/.test(call.args[place - 1]?.value ?? '')) texts.push(arg)
  }
  const operands = operandsOf(call.args, ['-e', '-f', '-l', '--expression', '--file'])
  const explicit = texts.length > 0 || file !== undefined
  const [first, ...others] = operands
  if (!explicit && first) texts.push(first)
  const files = explicit ? operands : others
  for (const arg of texts) judgeSedText(call, arg)
  // BSD sed takes the suffix as a word of its own: `sed -i '' s/a/b/ file`.
  for (const arg of files) if (arg.value !== '') call.path(arg, inPlace ? 'write' : 'read')
  if (inPlace) call.say('file.edit', 'MEDIUM', 'sed -i changes files', inPlace)
}

function judgeSedText(call: Call, arg: Arg): undefined {
  if (!arg.known) return call.say('code.unknown', 'MEDIUM', 'part of the sed program is known only when it runs', arg)
  const bare = withoutSedStrings(arg.value)
  if (/(^|[;{}\n]|[\d$/])\s*!?\s*[wW]\s+\S|§[a-zA-Z0-9]*w/.test(bare))
    call.say('write.program', 'HIGH', 'the sed program writes files', arg)
  if (/(^|[;{}\n]|[\d$/])\s*!?\s*e(\s|$)|§[a-zA-Z0-9]*e/.test(bare))
    call.say('code.alarming', 'HIGH', 'the sed program runs commands', arg)
  if (/(^|[;{}\n]|[\d$/])\s*!?\s*[rR]\s+\S/.test(bare))
    call.say('code.inline', 'MEDIUM', 'the sed program reads another file', arg)
}

/** `s/a/b/` and `y/a/b/` with any delimiter become §, so that what follows is their flags; `/re/` becomes `/`. */
function withoutSedStrings(text: string): string {
  return text
    .replace(/(^|[;{}\n\s\d$,!/])[sy]([^\w\s\\;{}])(?:\\.|(?!\2)[^\\])*?\2(?:\\.|(?!\2)[^\\])*?\2/gs, '$1§')
    .replace(/\/(?:\\.|[^/\\])*\//g, '/')
}

/** find: LOW, but for the actions that run, delete or write. */
function find(call: Call): undefined {
  const { args } = call
  for (let place = 0; place < args.length; place++) {
    const arg = args[place]
    if (arg === undefined) break
    if (/^-(exec|execdir|ok|okdir)$/.test(arg.value)) {
      const end = args.findIndex(
        (one, at) => at > place && (one.value === ';' || (one.value === '+' && args[at - 1]?.value === '{}')),
      )
      const inner = args
        .slice(place + 1, end < 0 ? undefined : end)
        .map(one => (one.value === '{}' ? made('./{found}', one) : one))
      call.run(inner)
      if (end < 0) call.say('shell.unreadable', 'HIGH', 'find -exec without an end', arg)
      else place = end
    } else if (arg.value === '-delete') call.say('file.delete', 'HIGH', 'find -delete deletes files', arg)
    else if (/^-(fprint0?|fprintf|fls)$/.test(arg.value))
      call.say('write.flag', 'HIGH', `find ${arg.text} writes a file`, arg)
    else if (arg.value === '-files0-from') call.say('arg.unknown', 'MEDIUM', 'the folders come from a file', arg)
    else if (!arg.known) call.path(arg, 'read')
  }
  const named = args.find(
    (arg, at) => /^-i?(name|path|wholename)$/.test(args[at - 1]?.value ?? '') && findsSecret(arg.value),
  )
  if (named && args.some(arg => /^-(exec|execdir|ok|okdir)$/.test(arg.value)))
    call.say('path.secret', 'HIGH', `${named.text} finds files with secrets`, named)
  const stop = args.findIndex(arg => isFlag(arg) || /^[(!,)]/.test(arg.value))
  for (const arg of stop < 0 ? args : args.slice(0, stop)) {
    call.path(arg, 'read')
    const path = arg.value.replace(/\/+$/, '') || '/'
    if (path === '/' || path === call.scope.home)
      call.say('read.wide', 'MEDIUM', `${arg.text} is the whole machine or home`, arg)
  }
}

function findsSecret(pattern: string): boolean {
  return globFindsSecret(pattern) || secretPart(pattern) !== undefined
}

function tar(call: Call): undefined {
  const { args } = call
  const runs = args.find(
    arg =>
      /^--(checkpoint-action|use-compress-program|to-command|rsh-command|info-script|new-volume-script|rmt-command)/.test(
        arg.value,
      ) ||
      /^--(check.*-a|use-c|to-c|rs|inf.*s|new-v|rm)/.test(arg.value) ||
      /^-[a-zA-Z]*[IF]/.test(arg.value),
  )
  if (runs) call.say('flag.runs', 'HIGH', `${runs.text} makes tar run a program`, runs)
  const removes = args.find(arg => /^--(remove-files|delete|recursive-unlink|unlink-first|overwrite)/.test(arg.value))
  if (removes) call.say('file.delete', 'HIGH', `${removes.text} deletes files`, removes)
  const mode = args[0]?.value ?? ''
  const lists = /^-?[a-z]*t[a-z]*$/.test(mode) && !/[xcru]/.test(mode.replace(/^-/, '').replace(/[fvzjJ]/g, ''))
  const into = findFlag(args, ['-C', '--directory', '--one-top-level'], 'Cfb')
  if (into?.value) call.path(into.value, lists ? 'read' : 'write')
  for (const arg of operandsOf(args)) call.secret(arg)
  if (args.some(arg => /^(-[a-zA-Z]*P|--absolute-names)/.test(arg.value)))
    call.say('file.archive', 'HIGH', 'tar takes absolute names as they are')
  if (!lists) call.say('file.archive', 'MEDIUM', 'tar packs or unpacks files')
  const out =
    findFlag(args, ['-f', '--file'], 'fCbXT') ??
    (/^[a-zA-Z]*f/.test(mode) && args[1] ? { arg: args[0] ?? args[1], value: args[1] } : undefined)
  if (out?.value && /c|r|u|A/.test(mode.replace(/^--?/, '')) && !lists && out.value.value !== '-')
    call.path(out.value, 'write')
}
