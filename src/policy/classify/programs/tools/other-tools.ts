import type { Call, Rules } from '../../call.ts'
import { operandsOf } from '../../words/flags.ts'
import { named } from '../common/build.ts'
import { tool } from './tool.ts'

/** Documents, sites, editors, and other agents. */
export const OTHER_TOOLS: Rules = {
  buf: tool({
    high: /^(push|registry|plugin|beta)$/,
    verbs: 'lint build breaking format',
    flags: '-d --diff --exit-code --error-format: --against: --path:',
  }),
  ...named(
    'protoc',
    tool({
      words: true,
      flags: '-I* -I: -proto_path: -decode_raw -print_free_field_numbers',
      medium: /^(--.*_out.*|-o.*)$/,
      high: /^--plugin.*$/,
    }),
  ),
  ...named(
    'pdflatex xelatex lualatex latex tex latexmk pdftex luatex bibtex',
    tool({
      high: /^--?(shell-escape|enable-write18|shell-restricted|output-directory=\/.*|luaonly|lua=.*|pdflatex=.*|e|r|usepretex.*|pretex.*)$|^-?\\|write18/,
      medium: /./,
    }),
  ),
  ...named(
    'hugo jekyll zola',
    tool({
      verbs: 'build check version env config list',
      flags:
        '-D -F -E -b: -s: --minify --gc --drafts --future --incremental --destination: --buildDrafts --cleanDestinationDir --printI18nWarnings --baseURL: --strict_front_matter --profile',
    }),
  ),
  ...named('code codium cursor idea subl atom windsurf', call =>
    call.say(
      call.args.some(arg => /^--(install-extension|uninstall-extension|install-source.*)/.test(arg.value))
        ? 'persist'
        : 'editor',
      call.args.some(arg => /^--(install-extension|uninstall-extension)/.test(arg.value)) ? 'HIGH' : 'MEDIUM',
      `${call.name} opens an editor`,
    ),
  ),
  ...named(
    'wasm-pack trunk maturin graphql-codegen ansible-lint openapi-generator jupyter ffprobe tldr cargo-nextest typos taplo vale lychee dotslash sqlfluff djlint pyupgrade codespell semgrep',
    call => {
      call.say('tool.other', 'MEDIUM', `${call.name} builds or checks the project`)
      PROJECT_TOOL(call)
    },
  ),
  ...named('venv virtualenv', call => {
    call.say('tool.other', 'MEDIUM', 'it makes a folder for packages')
    for (const arg of operandsOf(call.args, ['--prompt', '-p', '--python'])) call.path(arg, 'write')
  }),
  ...named('claude codex gemini aider opencode copilot pcc perpetualcc cursor-agent amp', (call: Call) => {
    const loose = call.args.find(arg =>
      /dangerously|bypass|yolo|--allow-all|full-auto|never|acceptEdits/i.test(arg.value),
    )
    call.say(
      'agent.start',
      loose || /^(pcc|perpetualcc)$/.test(call.name) ? 'HIGH' : 'MEDIUM',
      `${call.name} starts or steers an agent`,
      loose,
    )
  }),
}

const PROJECT_TOOL = tool({ medium: /^(publish|deploy|login|upload|install)$/ })
