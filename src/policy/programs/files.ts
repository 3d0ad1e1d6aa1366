import { dirname, resolve } from 'node:path'
import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { describeTarget, emptiesFile, isLog, isOwnFile, noteWritten, staysInSandbox } from '../classify/judge-file.ts'
import { explainText } from '../classify/written-text.ts'
import { locatePath } from '../paths/fence.ts'
import { isHeldWrite, isTemporary } from '../paths/judge-path.ts'
import { type Arg, deriveArg, findFlag, findFlags, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { computeOutput } from '../shell/printed.ts'
import { fd, find } from './find.ts'
import { judgeFlags, named, reader } from './rule-builders.ts'
import { comesFromNetwork } from './run-code.ts'
import { sed } from './sed.ts'
import { copy, findSources, isEmptyFolder, judgeArchive, judgePacked, judgePatch, leadsOut } from './written-files.ts'

/** Flags with which tar still only lists an archive. */
const LISTING =
  /^(-[fvzjJatCOS]+|--(list|verbose|file|gzip|bzip2|xz|zstd|auto-compress|wildcards|no-wildcards|exclude|strip-components|full-time|numeric-owner|directory|no-recursion|utc|block-number|occurrence)(=.*)?)$/

function tar(call: ProgramCall): undefined {
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
  const remote = findOperands(args).find(arg => /^[\w.@-]+:/.test(arg.value))
  if (remote && !args.some(arg => arg.value === '--force-local'))
    call.say('net.transfer', 'HIGH', `${remote.text} is an archive on another machine`, remote)
  const removes = args.find(arg => /^--(remove-files|delete|recursive-unlink|unlink-first|overwrite)/.test(arg.value))
  if (removes) call.say('file.delete', 'HIGH', `${removes.text} deletes files`, removes)
  const mode = args[0]?.value ?? ''
  const lists =
    /^(--list|-?[fvzjJaZ]*t[fvzjJaZ]*)$/.test(mode) && !/[xcru]/.test(mode.replace(/^-/, '').replace(/[fvzjJ]/g, ''))
  for (const into of findFlags(args, ['-C', '--directory', '--one-top-level'], 'Cfb'))
    if (into.value) call.path(into.value, lists ? 'read' : 'write')
  if (!lists && comesFromNetwork(call))
    call.say('net.download', 'HIGH', 'what comes from the network is unpacked unseen')
  for (const arg of findOperands(args)) call.secret(arg)
  if (args.some(arg => /^(-[a-zA-Z]*P|--absolute-names)/.test(arg.value)))
    call.say('file.archive', 'HIGH', 'tar takes absolute names as they are')
  const odd = lists ? args.slice(1).find(arg => isFlag(arg) && !LISTING.test(arg.value)) : undefined
  if (odd) call.say('flag.unknown', 'MEDIUM', `${odd.text} is not a flag of ${call.name} that the policy knows`, odd)
  const out =
    findFlag(args, ['-f', '--file'], 'fCbXT') ??
    (/^[a-zA-Z]*f/.test(mode) && args[1] ? { arg: args[0] ?? args[1], value: args[1] } : undefined)
  const unpacks =
    !lists && (/^-?[a-zA-Z]*x/.test(mode) || args.some(arg => /^(-[a-zA-Z]*x|--extract|--get)/.test(arg.value)))
  const into = findFlags(args, ['-C', '--directory'], 'Cfb')
  if (/^-?[vzjJa]*c[vzjJa]*f$/.test(mode) && into.length === 0) {
    const sources = findOperands(args.slice(2))
    const isPlain = args.slice(2).every(arg => !isFlag(arg) || /^--exclude=[\w.*/-]+$/.test(arg.value))
    return judgePacked(call, args[1], sources, isPlain)
  }
  const strip = findFlag(args, ['--strip-components'])?.value?.value
  const isSeen = unpacks && judgeArchive(call, out?.value ?? call.feed.file, into.at(-1)?.value, Number(strip ?? 0))
  const isPlain = args.every(
    ({ known, value }) => known && (!/^-/.test(value) || /^(-[xvzjJaf]+|-C|--strip-components=\d)$/.test(value)),
  )
  // What is unpacked may be a file that steers tools outside of the sandbox.
  const isHeld = isSeen && isPlain && into.length === 1 && isEmptyFolder(call, into[0]?.value)
  const [keeper, ...others] = call.feed.upstream ?? []
  const isKept =
    !!keeper &&
    others.length === 0 &&
    !keeper.among &&
    /^git archive (?!.*(^| )-)[\w./~^@\0 -]+$/.test(
      keeper.words.map(({ value }) => value.replaceAll(HOLE, 'x')).join(' '),
    ) &&
    !call.scope.defined.has('git')
  const isExport =
    isKept && unpacks && !out && isPlain && into.length === 1 && isTemporary(into[0]?.value?.value ?? '', call.fence)
  if (isExport) call.hold('tool.outside', 'MEDIUM', 'tar unpacks what git keeps into a folder of /tmp')
  else if (!lists) call[isHeld ? 'hold' : 'say']('file.archive', 'MEDIUM', 'tar packs or unpacks files')
  if (out?.value && /c|r|u|A/.test(mode.replace(/^--?/, '')) && !lists && out.value.value !== '-')
    call.path(out.value, 'write')
}

function archive(call: ProgramCall): undefined {
  call.say('file.archive', 'MEDIUM', `${call.name} packs or unpacks files`)
  for (const arg of findOperands(call.args)) call.secret(arg)
}

const TEE = flagTable({ harmless: '-aip --append --ignore-interrupts --output-error?' })

/** Programs that make, move, pack and edit files. */
export const FILES: ProgramRules = {
  mkdir: call => {
    judgeWrites(call, findOperands(call.args, ['-m', '--mode']), 'file.make', 'makes folders')
    const mode = findFlag(call.args, ['-m', '--mode'], 'm')
    if (mode) call.say('file.mode', 'HIGH', `${mode.arg.text} sets rights`, mode.arg)
  },
  touch: call =>
    judgeWrites(
      call,
      findOperands(call.args, ['-t', '-d', '-r', '--date', '--reference']),
      'file.make',
      'makes files or changes their time',
    ),
  mktemp: call => {
    call.say('file.make', 'MEDIUM', 'mktemp makes a file')
    const folder = findFlag(call.args, ['-p', '--tmpdir'], 'pt')?.value
    for (const arg of [...findOperands(call.args, ['-p', '-t', '--suffix']), ...(folder ? [folder] : [])])
      if (!/^\/tmp(\/|$)|^[\w.-]+$/.test(arg.value)) call.path(arg, 'write')
  },
  mkfifo: call => judgeWrites(call, findOperands(call.args, ['-m']), 'file.make', 'makes a pipe'),
  mknod: call => call.say('disk', 'HIGH', 'mknod makes devices'),
  ...named('cp gcp', copy('file.copy', 'copies files')),
  ...named('mv gmv', call => {
    copy('file.move', 'moves files')(call)
    for (const arg of findSources(call)) call.path(arg, 'write')
    const target = findFlag(call.args, ['-t', '--target-directory'], 'tSmog')?.value ?? findOperands(call.args).at(-1)
    // In a sandbox /tmp disappears with what was moved there.
    if (
      target?.known &&
      locatePath(target.value, call.scope.cwd ?? call.fence.boundary, call.fence).where === 'outside'
    )
      call.say('file.move', 'HIGH', `${target.text} is outside the project, and so is then what was moved`, target)
  }),
  install: copy('file.copy', 'copies files and sets their rights', 'HIGH'),
  rename: call => call.say('file.move', 'HIGH', 'rename changes many names by a program text'),
  ...named('ln link', call => {
    const operands = findOperands(call.args, ['-t', '-S', '--target-directory', '--suffix'])
    const [target] = operands
    const paths = operands.length > 1 ? operands.slice(1) : []
    const isOut = target !== undefined && (!target.known || leadsOut(call, target))
    const isOwn = target !== undefined && paths.length === 1 && paths.every(path => linksInside(call, target, path))
    // With -f something else would be lost.
    const isNew = paths.every(arg => isNewName(call, arg))
    const isPlain = call.args.every(
      arg =>
        !isFlag(arg) ||
        /^(-[snrv]+|--(symbolic|relative|verbose|no-dereference))$/.test(arg.value) ||
        (isNew && arg.value === '-sfn'),
    )
    call[isOwn && isPlain ? 'hold' : 'say']('file.link', 'MEDIUM', `${call.name} makes links`)
    for (const arg of paths) call.path(arg, 'write')
    if (target === undefined) return
    if (isOut) call.say('file.link-out', 'HIGH', `${target.text} leads out of the project`, target)
    call.secret(target)
  }),
  tee: call => {
    const seen = scanFlags(call.args, TEE)
    judgeFlags(call, seen)
    for (const arg of seen.operands) {
      if (arg.known && /^\/dev\/(null|std(out|err)|tty|fd\/\d+)$/.test(arg.value)) continue
      noteWritten(arg, call)
      const { file, text, upstream = [] } = call.feed
      const pipe = text ? [[text]] : file ? [[file]] : upstream.map(({ words }) => words)
      // With nothing to read it makes an empty file.
      const isEmptied = pipe.length === 0 || file?.value === '/dev/null' || emptiesFile(arg, pipe)
      if (isLog(arg, { fence: call.fence, empties: isEmptied })) {
        call.say('write.temp', 'MEDIUM', `tee writes ${arg.text}, which only is read`, arg)
        continue
      }
      call.path(arg, 'write')
      const say = isEmptied
        ? call.say
        : isOwnFile(arg, call)
          ? call.settle
          : staysInSandbox(arg, call)
            ? call.hold
            : call.say
      const adds = call.args.some(({ value }) => /^(-[ip]*a[ip]*|--append)$/.test(value))
      say('write.redirect', 'HIGH', `tee writes ${arg.text}; the Write tool does this in the open`, arg)
      call.note(describeTarget(arg, call, adds))
      const texts = [...(text ? [text] : []), ...upstream.flatMap(({ text: body }) => body ?? [])]
      for (const { code, risk, text: why, held } of explainText(
        arg.value,
        upstream.map(({ words }) => words),
        texts,
      ))
        call[held ? (isOwnFile(arg, call) ? 'settle' : 'hold') : 'say'](code, risk, why, arg)
      const [only, second] = upstream
      const output = text
        ? text.known
          ? text.value
          : undefined
        : only && !second && !only.among
          ? computeOutput(only.words, only.text, () => undefined)
          : undefined
      const isAdded = seen.flags.some(({ name }) => /^(a|append)$/.test(name))
      call.change(arg, (had = '') => (isAdded ? { after: output && had + output } : { after: output, whole: true }))
    }
  },
  patch: call => {
    call.say('file.edit', 'MEDIUM', 'patch changes files')
    const [file, second] = findOperands(call.args, '-i -o -p -d -r -B -D -F -g -V -Y -z'.split(' '))
    const value = (flags: string[]) => findFlag(call.args, flags, 'iopdrBDFgVYz')?.value
    const input = value(['-i', '--input']) ?? second
    const strip = value(['-p', '--strip'])
    judgePatch(call, {
      files: input && input.value !== '-' ? [input] : [],
      folder: value(['-d', '--directory']),
      strip: strip && Number(strip.value),
    })
    if (file) call.path(file, 'write')
    for (const arg of call.args) call.secret(arg)
    for (const out of findFlags(
      call.args,
      ['-o', '--output', '-d', '--directory', '-r', '--reject-file'],
      'iopdrBDFgVYz',
    ))
      if (out.value) call.path(out.value, 'write')
  },
  ...named('sed gsed', sed),
  ...named('find gfind', find),
  ...named('fd fdfind', fd),
  ...named('tar gtar bsdtar', tar),
  ...named('zip 7z 7za 7zr rar', call => {
    const moves = call.args.find(arg =>
      /^(-m|--move|-sdel|-df|-dr|-d|--delete|mf|-T|-TT|--test|--unzip-command)/.test(arg.value),
    )
    if (moves) call.say('file.delete', 'HIGH', `${moves.text} deletes what it packs, or runs something`, moves)
    if (call.name !== 'zip') return archive(call)
    const [target, ...sources] = findOperands(call.args)
    const isPlain = call.args.every(arg => !isFlag(arg) || /^-[rqv0-9]+$/.test(arg.value))
    judgePacked(call, target && /\.\w+$/.test(target.value) ? target : undefined, sources, isPlain)
  }),
  ...named('unzip unrar unar gunzip bunzip2 unxz unzstd uncompress', call => {
    const lists = call.args.some(arg => /^-[a-z]*[ltpvZ][a-z0-9]*$/.test(arg.value)) && call.name === 'unzip'
    const odd = call.args.find(arg => isFlag(arg) && !/^-[ltpvZ12qCsmhzM]+$/.test(arg.value))
    const folder = call.name === 'unzip' ? findFlag(call.args, ['-d'], 'dxP')?.value : undefined
    const isPrinted = /^(gunzip|bunzip2|unxz|unzstd)$/.test(call.name) && isPrintedOnly(call)
    if (isPrinted) return
    const isSeen =
      call.name === 'unzip' && !lists && judgeArchive(call, findOperands(call.args, ['-d', '-x', '-P'])[0], folder)
    const isPlain = call.args.every(({ known, value }) => known && (!/^-/.test(value) || /^-(q+|o|d)$/.test(value)))
    if (isSeen && isPlain && isEmptyFolder(call, folder))
      call.hold('file.archive', 'MEDIUM', 'unzip unpacks files into a folder')
    else if (!lists || odd) archive(call)
    if (!lists && /^(gunzip|bunzip2|unxz|unzstd|uncompress)$/.test(call.name))
      for (const arg of findOperands(call.args, ['-o'])) call.path(arg, 'write')
    const to = findFlag(call.args, ['-o', '--output-dir-flat'], 'oD')
    if (to?.value && call.name === 'unzstd') call.path(to.value, 'write')
    if (comesFromNetwork(call)) call.say('net.download', 'HIGH', 'what comes from the network is unpacked unseen')
    const out = findFlag(call.args, ['-d', '-o'], 'dxP')
    if (call.name === 'unzip' && out?.value && /^-d/.test(out.arg.value)) call.path(out.value, 'write')
  }),
  ...named('gzip bzip2 xz zstd lz4 compress brotli pigz', call => {
    if (isPrintedOnly(call)) return
    const all = findFlag(call.args, ['-r', '--recursive', '--files', '--files0', '--filelist', '--rm'], 'SoTMD')
    if (all) call.say('file.delete', 'HIGH', `${all.arg.text} replaces many files`, all.arg)
    call.say('file.edit', 'MEDIUM', `${call.name} replaces files`)
    const out = findFlag(call.args, ['-o', '--output', '--output-dir-flat', '--output-dir-mirror', '--trace'], 'oDTMS')
    for (const arg of [...findOperands(call.args), ...(out?.value ? [out.value] : [])]) call.path(arg, 'write')
  }),
  zipinfo: reader({ harmless: '-12smlvhMtTzZC' }),
  ...named('cpio ar pax shar', call => archive(call)),
  ...named('rsync', call => {
    const remote = call.args.some(arg => /^[^/]*:|^rsync:\/\//.test(arg.value) && !isFlag(arg))
    const deletes = call.args.find(arg => /^--(del.*|remove-s.*|forc|force|inplace)$/.test(arg.value))
    const runs = findFlag(call.args, ['-e', '--rsh', '--rsync-path'], 'efBTM')
    for (const arg of call.args) {
      const [, flag = '', value = ''] = /^--([a-z-]+)=(.*)$/s.exec(arg.value) ?? []
      if (/^(log-file|write-batch|only-write-batch|backup-dir|partial-dir|temp-dir)$/.test(flag))
        call.path(deriveArg(value, arg), 'write')
      else if (/^(files-from|exclude-from|include-from|read-batch|password-file)$/.test(flag))
        call.path(deriveArg(value, arg), 'read')
    }
    if (deletes) call.say('file.delete', 'HIGH', `${deletes.text} deletes files`, deletes)
    if (runs) call.say('flag.runs', 'HIGH', `${runs.arg.text} runs a program`, runs.arg)
    if (remote) call.say('net.transfer', 'HIGH', 'rsync copies to or from another machine')
    copy('file.copy', 'copies files')(call)
  }),
  ...named('convert magick mogrify ffmpeg pandoc wkhtmltopdf inkscape gs ghostscript dot', call => {
    // A picture or a document is nothing that steers a tool.
    const isOwn = call.args.every(
      ({ known, value }) =>
        known && !/(^|\/)\.[\w]|^~|\.\.\/|^\/(?!tmp\/)|:\/\/|%|^--?post|^-s?outputfile/i.test(value),
    )
    const isHere = isOwn && !call.args.some(({ value }) => value.startsWith('/'))
    call[isOwn ? 'hold' : 'say'](isHere ? 'file.make' : 'file.convert', 'MEDIUM', `${call.name} writes files`)
    for (const arg of call.args) call.secret(arg)
    if (
      call.args.some(arg =>
        /^(--lua-filter|--filter|-F|-L|--pdf-engine|-dNOSAFER|--enable-local-file-access|ephemeral:|msl:|-write$|\||@|\w+:@|https?:|inline:)/.test(
          arg.value,
        ),
      )
    )
      call.say('flag.runs', 'HIGH', `${call.name} runs code`)
  }),
}

/** Flags with which a compression program only prints. */
const PACKER_FLAGS =
  /^(-[1-9cdfklntqv]+|--(stdout|to-stdout|decompress|list|test|keep|force|quiet|verbose|fast|best|no-name))$/

/** Whether a compression program only prints; then its files are read. */
function isPrintedOnly(call: ProgramCall): boolean {
  const prints = call.args.some(arg => /^-[a-z0-9]*[clt]|^--(stdout|to-stdout|list|test)$/.test(arg.value))
  const known = call.args.every(arg => !isFlag(arg) || PACKER_FLAGS.test(arg.value))
  if (!prints || !known) return false
  for (const arg of findOperands(call.args)) call.path(arg, 'read')
  return true
}

function judgeWrites(call: ProgramCall, paths: Arg[], code: string, text: string): undefined {
  call.say(code, 'MEDIUM', `${call.name} ${text}`)
  for (const arg of paths) call.path(arg, 'write')
}

/**
 * Whether a link leads to an ordinary file of the project, or to /tmp. What it leads to counts from the folder of the link, from the link, if
 * that is a folder already, and from the current folder, as of a hard link.
 */
function linksInside(call: ProgramCall, target: Arg, link: Arg): boolean {
  const { cwd, folders } = call.scope
  if (cwd === undefined || folders.size > 1 || !target.known || !staysInSandbox(link, call)) return false
  const starts = call.args.some(arg => /^-\w*s|^--s/.test(arg.value)) ? [dirname(link.value), link.value] : ['.']
  return starts.every(start => {
    const path = resolve(cwd, start, target.value)
    const place = locatePath(path, cwd, call.fence)
    return place.where === 'inside' && place.relative !== '' && isHeldWrite(path, { cwd, fence: call.fence })
  })
}

/** Whether the project has nothing of that name. */
function isNewName({ scope, fence }: ProgramCall, { known, value }: Arg): boolean {
  const place = known && scope.cwd !== undefined ? locatePath(value, scope.cwd, fence) : undefined
  return place?.where === 'inside' && fence.look !== undefined && fence.look(place.path) === undefined
}
