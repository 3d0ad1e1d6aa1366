/** Ways to ask for leave: what follows is what somebody would do. Each line holds alternatives of a regular expression. */
const LEAVE = lines(`
(?:shall|should|may|can|could|do) (?:i|we)(?: now| just| then)?
(?:do you )?(?:want|wish) (?:me|us) to|would you like (?:me|us) to|would you like to|do you want to
(?:is it |are you |am i |are we |all |it's |if it's |if you're )?(?:ok|okay|fine|good|happy|ready|clear|alright|safe)(?: with you| by you| for me| for you)? (?:to|if i|for me to|with me)
permission to|good to|(?:if|whether) (?:i|we) (?:should|can|may)|would it be ok(?:ay)? (?:to|if i)`)

const ON = lines(`
proceed|proceeding|continue|continuing|go ahead|going ahead|go on|going on|move on|move forward|move ahead|keep going
carry on|resume|start|begin|get started|start implementing|begin implementing|press on`)

const GOING_ON_ALONE = lines(String.raw`
^(?:[^?]*[.!:\n]\s*)?(?:shall we|may i|shall i|(?:are you |all )?ready|sounds? good|looks? good)\s*\?$
\b(?:approve|confirm|accept|agree with|happy with|okay with|ok with) (?:this|the|that|my) (?:\w+ )?(?:plan|approach|design|proposal|outline|changes|steps)\W*$
\b(?:does|do) (?:this|that|the|these|my|it)(?: (?:plan|approach|design|outline|proposal|structure|solution|sound|changes))? (?:look|sound|seem|work)s? (?:good|right|ok|okay|fine|reasonable|correct|for you)(?: to you| so far)?\W*$`)

/** Steps that belong to every piece of work and that the next commit can take back. */
const STANDARD_STEP = lines(String.raw`
(?:run|re-?run|execute) (?:the |all |our |these |some )?(?:\w+ )?(?:unit |integration |full |existing |new |e2e )*(?:tests?|test suite|suite|linter|lint|type ?check(?:s|er)?|formatter|build|specs?|checks?|benchmarks?)
(?:add|write|create|include|extend|update|improve|expand)(?: (?:some|more|the|a|an|few|new|missing|additional|corresponding|basic|unit|integration|regression|inline|api|short|brief|proper|relevant|helpful|automated))* (?:tests?|test cases?|test coverage|docs?|documentation|docstrings?|comments?|readme|changelog(?: entry)?|types?|type hints?|type annotations?|error handling|error messages?|logging|validation|input validation|examples?|fixtures?|doc comments?|usage notes?|jsdoc|edge cases?)
(?:format|lint|type-?check|tidy|reformat) (?:the |this |these |all )?(?:code|files?|project|changes|sources?)
(?:commit|stage) (?:the|these|this|those|my|it|all|them|what)(?: \w+){0,3}(?: (?:locally|to git|now))?
install (?:the |these |all |missing |required |project |project's |dev )*(?:dependencies|packages|requirements|types)
(?:update|adjust|modify|extend) (?:the|this|these|that|existing)(?: [\w-]+){0,4} (?:accordingly|tests?|types?|imports?|code|files?|component|function|module|config|configuration|references|callers|call sites|schema)
apply (?:the|this|these|that|it)(?: \w+){0,2} (?:fix|changes?|patch|refactoring|suggestions?|edits?)
make (?:the|this|these|those|that)(?: \w+){0,2} (?:changes?|edits?|fix|updates?)
(?:fix|correct|add|apply|document|test|format|implement|finish|fill in|create) (?:it|this|that|these|those|them|some|one)(?: in| too| as well| now| first)?
rename \W?[\w.]+\W?|fill (?:it|this|that|them) in
do (?:it|that|this|so)(?: now| for you)?`)

/** Standard steps when what they are done to is code. */
const STEP_ON_CODE = lines(String.raw`
(?:fix|resolve|address|correct)(?: \w+){0,3} (?:lint\w*|type|typos?|tests?|failing|failures?|errors?|warnings?|bugs?|issues?|formatting|imports?|indentation)(?: \w+){0,3}
(?:create|make|generate|scaffold) (?:the|a|an|this|these|that|new)(?: \w+){0,3} (?:file|module|component|folder|directory|test|class|function|branch|interface|type|stub|page|route|hook)s?
(?:implement|finish|complete|build|wire up|handle|cover) (?:the|this|these|that|it|them|all|rest|remaining|next)(?: [\w-]+){0,6}
(?:refactor|rename|extract|simplify|clean up|document|split|move) (?:the|this|these|that|it|them)(?: [\w-]+){0,6}`)

/** Leave to go on; what stands behind it is what with. */
export const GOES_ON = new RegExp(
  String.raw`\b(?:${LEAVE}),?\s+(?:now |please |simply |then |just )?(?:${ON})\b|^(?:proceed|continue|go ahead|ready to go|ready|keep going|start)\b(?=[^?.!]*\?)|\bto (?:proceed|continue)\b(?=[^?.!]*\?)`,
  'i',
)

/** Leave to go on, asked in a way that names nothing else. */
export const GOES_ON_ALONE = new RegExp(GOING_ON_ALONE, 'i')

/** What was planned or said before: "with this plan", "with step 2", "as outlined above". */
export const POINTS_AT =
  /^(?:(?:with|on|to|from|using|as|by)?\s*(?:this|that|it|these|those|here|now|then|there|planned|outlined|proposed|described|discussed|above|you say|(?:the )?(?:step|phase|part|task|item|milestone|point|section|stage) \d+|(?:the |this |that |my |our |your |these |those )?(?:next|second|third|first|remaining|rest|rest of it|proposed|outlined|above|current|described|same|new|following|whole|other)?\s*(?:plan|approach|design|proposal|outline|changes|steps?|work|tasks?|items?|points?|one|ones|phase|part|parts|milestone|implementation|rest|rest of (?:it|this|them|the (?:work|plan|tasks?|list))|stage|round|ticket|issue)?)(?:\s+(?:now|above|below|as (?:planned|outlined|described|is|proposed)|then|first|next|please))?)$/i

/** Leave for something else; what stands behind it is what for. */
export const LEAVE_FOR = new RegExp(
  String.raw`\b(?:${LEAVE}),?\s+(?:also |now |please |just |go ahead and |first |then )*`,
  'i',
)

/** One standard step. */
export const STANDARD = new RegExp(String.raw`^(?:${STANDARD_STEP})\b`, 'i')

/** A step that is standard when it is done to code. */
export const STANDARD_IF_CODE = new RegExp(String.raw`^(?:${STEP_ON_CODE})\b`, 'i')

function lines(text: string): string {
  return text.trim().split('\n').join('|')
}
