	.text
	.intel_syntax noprefix
	.file	"shapes.c"
	.globl	table                           # -- Begin function table
	.p2align	4, 0x90
	.type	table,@function
table:                                  # @table
# %bb.0:
	push	rbx
                                        # kill: def $edi killed $edi def $rdi
	xor	eax, eax
	add	edi, -10
	cmp	edi, 6
	ja	.LBB0_7
# %bb.1:
	lea	rcx, [rip + .LJTI0_0]
	movsxd	rdx, dword ptr [rcx + 4*rdi]
	add	rdx, rcx
	jmp	rdx
.LBB0_4:
	mov	edi, 9
	call	g@PLT
	mov	edi, eax
	pop	rbx
	jmp	h@PLT                           # TAILCALL
.LBB0_6:
	mov	edi, 1
	call	g@PLT
	mov	ebx, eax
	mov	edi, 1
	call	h@PLT
	add	eax, ebx
.LBB0_7:
	pop	rbx
	ret
.LBB0_2:
	mov	edi, 7
	pop	rbx
	jmp	h@PLT                           # TAILCALL
.LBB0_3:
	mov	edi, 5
	pop	rbx
	jmp	g@PLT                           # TAILCALL
.LBB0_5:
	mov	edi, 2
	call	h@PLT
	mov	edi, eax
	pop	rbx
	jmp	g@PLT                           # TAILCALL
.Lfunc_end0:
	.size	table, .Lfunc_end0-table
	.section	.rodata,"a",@progbits
	.p2align	2
.LJTI0_0:
	.long	.LBB0_6-.LJTI0_0
	.long	.LBB0_2-.LJTI0_0
	.long	.LBB0_3-.LJTI0_0
	.long	.LBB0_4-.LJTI0_0
	.long	.LBB0_5-.LJTI0_0
	.long	.LBB0_7-.LJTI0_0
	.long	.LBB0_4-.LJTI0_0
                                        # -- End function
	.text
	.globl	tree                            # -- Begin function tree
	.p2align	4, 0x90
	.type	tree,@function
tree:                                   # @tree
# %bb.0:
	cmp	edi, 8999
	jg	.LBB1_6
# %bb.1:
	cmp	edi, -70
	je	.LBB1_2
# %bb.3:
	cmp	edi, 3
	je	.LBB1_10
# %bb.4:
	cmp	edi, 500
	jne	.LBB1_13
# %bb.5:
	mov	edi, 3
	jmp	g@PLT                           # TAILCALL
.LBB1_6:
	cmp	edi, 9000
	je	.LBB1_11
# %bb.7:
	cmp	edi, 70000
	je	.LBB1_12
# %bb.8:
	cmp	edi, 800000
	jne	.LBB1_13
# %bb.9:
	mov	edi, 6
	jmp	g@PLT                           # TAILCALL
.LBB1_2:
	mov	edi, 1
	jmp	g@PLT                           # TAILCALL
.LBB1_10:
	mov	edi, 2
	jmp	g@PLT                           # TAILCALL
.LBB1_11:
	mov	edi, 4
	jmp	g@PLT                           # TAILCALL
.LBB1_12:
	mov	edi, 5
	jmp	g@PLT                           # TAILCALL
.LBB1_13:
	xor	edi, edi
	jmp	g@PLT                           # TAILCALL
.Lfunc_end1:
	.size	tree, .Lfunc_end1-tree
                                        # -- End function
	.globl	bits                            # -- Begin function bits
	.p2align	4, 0x90
	.type	bits,@function
bits:                                   # @bits
# %bb.0:
	mov	eax, edi
	cmp	al, 61
	ja	.LBB2_5
# %bb.1:
	mov	edi, 1
	mov	eax, eax
	movabs	rcx, 4294977024
	bt	rcx, rax
	jae	.LBB2_2
# %bb.4:
	jmp	g@PLT                           # TAILCALL
.LBB2_2:
	movabs	rcx, 2594090977551450112
	bt	rcx, rax
	jae	.LBB2_5
# %bb.3:
	mov	edi, 2
	jmp	g@PLT                           # TAILCALL
.LBB2_5:
	xor	eax, eax
	ret
.Lfunc_end2:
	.size	bits, .Lfunc_end2-bits
                                        # -- End function
	.globl	mixed                           # -- Begin function mixed
	.p2align	4, 0x90
	.type	mixed,@function
mixed:                                  # @mixed
# %bb.0:
	lea	rax, [rdi - 1]
	cmp	rax, 46
	ja	.LBB3_1
# %bb.3:
	lea	rcx, [rip + .LJTI3_0]
	movsxd	rax, dword ptr [rcx + 4*rax]
	add	rax, rcx
	jmp	rax
.LBB3_9:
	mov	edi, 7
	jmp	g@PLT                           # TAILCALL
.LBB3_1:
	movabs	rax, -5000000000
	cmp	rdi, rax
	je	.LBB3_2
# %bb.12:
	movabs	rax, 7000000000
	cmp	rdi, rax
	jne	.LBB3_13
# %bb.10:
	mov	edi, 8
	jmp	g@PLT                           # TAILCALL
.LBB3_13:
	xor	eax, eax
	ret
.LBB3_4:
	mov	edi, 2
	jmp	g@PLT                           # TAILCALL
.LBB3_5:
	mov	edi, 3
	jmp	g@PLT                           # TAILCALL
.LBB3_6:
	mov	edi, 4
	jmp	g@PLT                           # TAILCALL
.LBB3_7:
	mov	edi, 5
	jmp	g@PLT                           # TAILCALL
.LBB3_8:
	mov	edi, 6
	jmp	g@PLT                           # TAILCALL
.LBB3_2:
	mov	edi, 1
	jmp	g@PLT                           # TAILCALL
.Lfunc_end3:
	.size	mixed, .Lfunc_end3-mixed
	.section	.rodata,"a",@progbits
	.p2align	2
.LJTI3_0:
	.long	.LBB3_4-.LJTI3_0
	.long	.LBB3_5-.LJTI3_0
	.long	.LBB3_6-.LJTI3_0
	.long	.LBB3_7-.LJTI3_0
	.long	.LBB3_8-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_9-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_9-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_9-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_13-.LJTI3_0
	.long	.LBB3_9-.LJTI3_0
                                        # -- End function
	.text
	.globl	letters                         # -- Begin function letters
	.p2align	4, 0x90
	.type	letters,@function
letters:                                # @letters
# %bb.0:
	push	r14
	push	rbx
	push	rax
	mov	al, byte ptr [rdi]
	test	al, al
	je	.LBB4_12
# %bb.1:
	mov	rbx, rdi
	add	rbx, 1
	lea	r14, [rip + .LJTI4_0]
	jmp	.LBB4_2
.LBB4_9:                                #   in Loop: Header=BB4_2 Depth=1
	mov	edi, 6
	call	h@PLT
	mov	edi, 6
.LBB4_10:                               #   in Loop: Header=BB4_2 Depth=1
	call	g@PLT
.LBB4_11:                               #   in Loop: Header=BB4_2 Depth=1
	movzx	eax, byte ptr [rbx]
	add	rbx, 1
	test	al, al
	je	.LBB4_12
.LBB4_2:                                # =>This Inner Loop Header: Depth=1
	movsx	eax, al
	add	eax, -97
	cmp	eax, 24
	ja	.LBB4_11
# %bb.3:                                #   in Loop: Header=BB4_2 Depth=1
	movsxd	rax, dword ptr [r14 + 4*rax]
	add	rax, r14
	jmp	rax
.LBB4_4:                                #   in Loop: Header=BB4_2 Depth=1
	mov	edi, 1
	jmp	.LBB4_10
.LBB4_5:                                #   in Loop: Header=BB4_2 Depth=1
	mov	edi, 2
	call	h@PLT
	jmp	.LBB4_11
.LBB4_6:                                #   in Loop: Header=BB4_2 Depth=1
	mov	edi, 3
	call	h@PLT
	mov	edi, eax
	jmp	.LBB4_10
.LBB4_7:                                #   in Loop: Header=BB4_2 Depth=1
	mov	edi, 4
	call	g@PLT
	mov	edi, eax
	call	h@PLT
	jmp	.LBB4_11
.LBB4_8:                                #   in Loop: Header=BB4_2 Depth=1
	mov	edi, 5
	call	g@PLT
	mov	edi, 5
	call	h@PLT
	jmp	.LBB4_11
.LBB4_12:
	add	rsp, 8
	pop	rbx
	pop	r14
	ret
.Lfunc_end4:
	.size	letters, .Lfunc_end4-letters
	.section	.rodata,"a",@progbits
	.p2align	2
.LJTI4_0:
	.long	.LBB4_4-.LJTI4_0
	.long	.LBB4_5-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_6-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_7-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_8-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_11-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
                                        # -- End function
	.text
	.globl	stride                          # -- Begin function stride
	.p2align	4, 0x90
	.type	stride,@function
stride:                                 # @stride
# %bb.0:
	push	rax
                                        # kill: def $edi killed $edi def $rdi
	add	edi, -100
	rol	edi, 30
	cmp	edi, 4
	ja	.LBB5_7
# %bb.1:
	lea	rax, [rip + .LJTI5_0]
	movsxd	rcx, dword ptr [rax + 4*rdi]
	add	rcx, rax
	jmp	rcx
.LBB5_2:
	mov	edi, 1
	pop	rax
	jmp	g@PLT                           # TAILCALL
.LBB5_7:
	pop	rax
	ret
.LBB5_3:
	mov	edi, 2
	pop	rax
	jmp	h@PLT                           # TAILCALL
.LBB5_4:
	mov	edi, 3
	call	h@PLT
	mov	edi, eax
	pop	rax
	jmp	g@PLT                           # TAILCALL
.LBB5_5:
	mov	edi, 4
	call	g@PLT
	mov	edi, eax
	pop	rax
	jmp	h@PLT                           # TAILCALL
.LBB5_6:
	mov	edi, 5
	call	g@PLT
	mov	edi, 5
	pop	rax
	jmp	h@PLT                           # TAILCALL
.Lfunc_end5:
	.size	stride, .Lfunc_end5-stride
	.section	.rodata,"a",@progbits
	.p2align	2
.LJTI5_0:
	.long	.LBB5_2-.LJTI5_0
	.long	.LBB5_3-.LJTI5_0
	.long	.LBB5_4-.LJTI5_0
	.long	.LBB5_5-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
                                        # -- End function
	.ident	"Debian clang version 14.0.6"
	.section	".note.GNU-stack","",@progbits
